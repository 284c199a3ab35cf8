// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stores and additions to tensors go through shared memory and the copy engine: stores in loops as the key
// `bulk_stores` says, where each iteration is proven to store elsewhere (SliceOverlap.h). Those that share a shape
// share their staging buffer: each waits until the last has left it. Stores of tiles that may stop before their tensor
// does go the same way, but threads copy what is staged: whole lines of memory, which the accumulators' layout has not.
#include "backends/plan/placement/PlaceBulkStores.h"

#include "backends/plan/analysis/CopyEngineAccess.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/PlaceCoalescedStores.h"
#include "backends/plan/placement/SharedUse.h"
#include "backends/plan/placement/TensorMaps.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

class StorePlacer {
public:
  StorePlacer(const ir::Function &function, const Nest &nest, const arch::Description &arch, Placement &out)
      : function(function), nest(nest), arch(arch), out(out) {}

  /// `depth`: of loops around it. What the engine writes the block does not touch again, nor does another iteration:
  /// such accesses would be contested.
  void place(const ir::Op &op, int depth) {
    const bool adds = op.kind == ir::OpKind::Atomic;
    const ir::Value *value = op.operands().back();
    const bool isEarly = out.contested.count(&op) != 0 && out.lastWrites.count(&op) == 0;
    const ElemType elem = function.findParam(op.view.tensor)->elem;
    if (isEarly || value->type.kind != ir::Type::Tile || function.findParam(op.view.tensor)->isLocal)
      return;
    const bool byThreads = depth == 0 && leavesByThreads(op, elem);
    if (!byThreads && !suitsCopyEngine(function, op))
      return;
    const BoxStarts starts = boxStarts(function, op, plan::boxStep(elem, arch.boxAlignment));
    if (!byThreads && (starts == BoxStarts::Never || (starts == BoxStarts::Sometimes && out.aligned)))
      return;
    const plan::VarType &type = out.types.at(value);
    const bool exact =
        type.kind == plan::VarType::Fragment && type.rows == value->type.rows && type.cols == value->type.cols;
    const bool byCols = type.division == plan::Division::Cols;
    if (!exact || isPacked(elem) || bitWidth(elem) > 32 ||
        (adds ? elem != ElemType::F32 || type.elem != elem : byCols && !gainsByCols(elem)))
      return;
    if (type.division == plan::Division::Whole && out.instances > 1) // the first instance alone stores
      return;
    plan::Buffer buffer = stagingBuffer(type, elem, depth > 0, adds, op.loc);
    if (byThreads && !leavesRings(buffer.totalBytes()))
      return;
    if (type.cols % buffer.cols != 0 || boxRows(type) > arch.maxBoxDim || !hasPanels(buffer, byCols))
      return;
    if (const std::string shared = bufferLike(buffer); !shared.empty()) {
      buffer.name = shared;
    } else {
      if ((adds || depth > 0) && !hasRoom(out, arch, buffer.totalBytes()))
        return;
      buffer.name = out.uniqueBuffer(op.view.tensor + "_piece");
      out.buffers.push_back(buffer);
    }
    out.stores[&op] = {buffer.name, byThreads ? "" : mapFor(op, buffer, boxRows(type)), buffer.cols, buffer.stages,
                       depth == 0 && !adds && !hasLaterProduct(nest, op)};
    if (byThreads) {
      out.notes.push_back(
          {plan::Note::Copies,
           fmt::format("`{}`: written by the threads, row by row, through shared memory {} columns at a "
                       "time: {}",
                       op.view.tensor, buffer.cols, whyNotByCopyEngine(function, op)),
           op.loc});
      return;
    }
    if (starts == BoxStarts::Sometimes)
      out.asksStart.insert(&op);
    out.notes.push_back({plan::Note::Copies,
                         fmt::format("`{}`: written by the copy engine, through shared memory {} columns at a time; {} "
                                     "where the tensor does not "
                                     "suit the engine when called",
                                     op.view.tensor, buffer.cols,
                                     adds ? "directly by the threads" : "by the threads, row by row from there,"),
                         op.loc});
  }

private:
  /// Whether threads copy out what is staged. Of 32-bit elements they store whole sectors from where they have them.
  bool leavesByThreads(const ir::Op &op, ElemType elem) const {
    return op.kind == ir::OpKind::Store && bitWidth(elem) < 32 && !out.copiesItself && !out.multipliesByWarps() &&
           !out.usesTensorMemory() && mayStopBeforeTensor(function, op);
  }

  /// Whether the rings of loops have all their stages beside a buffer of so many bytes: loads that come late cost more.
  /// Kernels without such rings run in several blocks a multiprocessor, and these hide their stores.
  bool leavesRings(int64_t bytes) {
    int64_t further = 0;
    for (const RingPlacement &ring : out.rings)
      further += ring.depth > 0 ? (defaultStages - 1) * stageBytes(out, ring) : 0;
    return further > 0 && hasRoom(out, arch, further + bytes);
  }

  /// A quad of a warp's accumulator holds 8 neighbouring columns: whole sectors of memory only in 32-bit elements.
  bool gainsByCols(ElemType elem) const {
    return (out.multipliesByWarps() || out.usesTensorMemory()) && bitWidth(elem) < 32;
  }

  /// Columns go out 128 bytes at a time, in turns through two stages; where the instances share the columns, all of
  /// each one's at once, and so what loops add, if it takes no more memory: pieces cost barriers. So do those of a
  /// result that is no whole number of pieces, as 96 columns of 16 bits, in narrower panels, and what loops store of
  /// fewer columns.
  plan::Buffer stagingBuffer(const plan::VarType &type, ElemType elem, bool inLoop, bool adds, SourceLoc loc) const {
    const bool byCols = type.division == plan::Division::Cols;
    const int64_t piece = 128 / byteWidth(elem);
    plan::Buffer buffer;
    buffer.elem = elem;
    buffer.rows = type.rows;
    const bool isUneven = !inLoop && type.cols > piece && type.cols % piece != 0;
    const bool isNarrow = inLoop && !adds && type.cols < piece;
    buffer.cols = byCols || isUneven || isNarrow || (inLoop && type.cols == 2 * piece) ? type.cols : piece;
    buffer.stages = type.cols > buffer.cols ? 2 : 1;
    const int64_t panels = byCols                 ? type.cols / out.instances
                           : isUneven || isNarrow ? type.cols
                                                  : std::min(buffer.cols, piece);
    buffer.swizzle = chooseSwizzle(panels * byteWidth(elem));
    buffer.loc = loc;
    return buffer;
  }

  /// Whether the columns, or each instance's, are whole panels, as boxes are: without a swizzle they lie in rows of
  /// all.
  bool hasPanels(const plan::Buffer &buffer, bool byCols) const {
    const int64_t span = plan::bytes(buffer.swizzle);
    return span > 0 && buffer.cols / (byCols ? out.instances : 1) * byteWidth(buffer.elem) % span == 0;
  }

  int64_t boxRows(const plan::VarType &type) const {
    return type.division == plan::Division::Rows ? type.rows / out.instances : type.rows;
  }

  /// The staging buffer of an earlier store that `wanted` could be; empty: none.
  std::string bufferLike(const plan::Buffer &wanted) const {
    for (const auto &[op, placed] : out.stores) {
      const plan::Buffer &other = *out.findBuffer(placed.buffer);
      if (other.elem == wanted.elem && other.rows == wanted.rows && other.cols == wanted.cols &&
          other.stages == wanted.stages && other.swizzle == wanted.swizzle)
        return other.name;
    }
    return {};
  }

  /// Clones of a store, and other stores to the same tensor of the same shape, share its map.
  std::string mapFor(const ir::Op &op, const plan::Buffer &buffer, int64_t rows) {
    plan::TensorMap map = makeMap(op, buffer, rows);
    for (const plan::TensorMap &other : out.maps)
      if (other.buffer == map.buffer && other.tensor == map.tensor && other.rowDim == map.rowDim &&
          other.colDim == map.colDim && other.boxRows == map.boxRows && other.boxCols == map.boxCols)
        return other.name;
    map.name = uniqueMap(op.view.tensor + "_piece_map");
    out.maps.push_back(map);
    return map.name;
  }

  std::string uniqueMap(const std::string &base) const {
    std::string name = base;
    const auto hasName = [&](const plan::TensorMap &map) { return map.name == name; };
    for (int n = 2; std::any_of(out.maps.begin(), out.maps.end(), hasName); ++n)
      name = base + std::to_string(n);
    return name;
  }

  const ir::Function &function;
  const Nest &nest;
  const arch::Description &arch;
  Placement &out;
};

} // namespace

void placeBulkStores(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                     const Schedule &schedule, Placement &placement) {
  if (!placement.hasProducts || !arch.hasBulkTensorCopy)
    return;
  StorePlacer placer(function, nest, arch, placement);
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (op.kind == ir::OpKind::Store && depth == 0)
      placer.place(op, depth);
  });
  if (schedule.bulkStores.value_or(false))
    walkTile(nest, [&](const ir::Op &op, int depth) {
      if (op.kind == ir::OpKind::Store && depth > 0)
        placer.place(op, depth);
    });
  // What is added in loops takes what room is left: its slower path is not much slower.
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (op.kind == ir::OpKind::Atomic && op.atomic == ir::AtomicKind::Add)
      placer.place(op, depth);
  });
}

} // namespace tkc::planner
