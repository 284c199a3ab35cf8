// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/PlaceOperands.h"

#include "backends/plan/analysis/AfterProducts.h"
#include "backends/plan/analysis/CopyEngineAccess.h"
#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/MemoryDependence.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/ComputeWarps.h"
#include "backends/plan/placement/Divisions.h"
#include "backends/plan/placement/OperandShapes.h"
#include "backends/plan/placement/PlaceBoxes.h"
#include "backends/plan/placement/PlaceBulkStores.h"
#include "backends/plan/placement/PlaceCoalescedStores.h"
#include "backends/plan/placement/PlaceConverted.h"
#include "backends/plan/placement/PlaceDirectLoads.h"
#include "backends/plan/placement/PlaceVectors.h"
#include "backends/plan/placement/ProductShapes.h"
#include "backends/plan/placement/RowLayout.h"
#include "backends/plan/placement/TensorMaps.h"
#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

class Placer {
public:
  /// With at most `mostInstances`.
  Placer(const ir::Function &function, const Nest &nest, const arch::Description &arch, const Schedule &schedule,
         int mostInstances)
      : function(function), nest(nest), arch(arch), schedule(schedule), mostInstances(mostInstances) {}

  Placement run(std::string &error) {
    out.warpSize = arch.warpSize;
    out.maxRegistersPerThread = arch.maxRegistersPerThread;
    out.boxAlignment = arch.boxAlignment;
    out.aligned = schedule.aligned;
    out.hasNamedBarriers = arch.namedBarriers > 1;
    out.contested = findContested(function, nest);
    out.lastWrites = findLastWrites(function, nest, out.contested);
    chooseComputeWarps(nest, arch, schedule, mostInstances, out);
    walkTile(nest, [&](const ir::Op &op, int depth) {
      if (ir::isProduct(op))
        placeProduct(op, depth);
    });
    if (!out.hasProducts && !chooseRowLayout(nest, arch, schedule, out.layout, error))
      return std::move(out);
    assignTypes();
    narrowPanels();
    shapeProducts(arch, out);
    if (!missing.empty())
      error = missing;
    checkProductShapes(arch, out, error);
    if (std::string why = whyOperandsDoNotFit(nest, out); !why.empty())
      error = std::move(why);
    placeVectors(function, nest, arch, out);
    placeConverted(function, nest, arch, schedule, out);
    placeBoxes(function, arch, out);
    for (RingPlacement &ring : out.rings)
      ring.multipliedByWarps = out.multipliesByWarps();
    if (schedule.lateCopies.value_or(0) > 1)
      copyAgainInLoops();
    findRegisterLoads();
    placeDirectLoads(function, nest, arch, schedule.persistent.value_or(false) || nest.isRagged(), out);
    // A block's share of the columns of a split sum is few: its threads store them as they have them.
    if (schedule.split.value_or(1) > 1 && worksOnElementsAfterProducts(nest))
      return std::move(out);
    placeBulkStores(function, nest, arch, schedule, out);
    placeCoalescedStores(function, nest, out);
    return std::move(out);
  }

private:
  // ---- products
  void placeProduct(const ir::Op &dot, int depth) {
    const arch::MatrixInstruction *instruction = instructionOf(dot, arch, out);
    ProductPlacement placed;
    placed.byThreads = !instruction;
    placed.byWarps = instruction && isByWarps(*instruction);
    placed.inTensor = instruction && instruction->issuer == arch::Issuer::Thread;
    placed.a = placeOperand(dot, 0, depth, instruction);
    placed.b = placeOperand(dot, 1, depth, instruction);
    if (ir::isScaled(dot))
      for (size_t side : {0, 1})
        placed.scales[side] = placeScales(dot, side, side == 0 ? placed.a : placed.b);
    out.products[&dot] = placed;
    noteProduct(dot, placed);
  }

  void noteProduct(const ir::Op &dot, const ProductPlacement &placed) {
    if (placed.byThreads)
      out.note(plan::Note::Operands, dot.loc,
               fmt::format("threads multiply: `{}` has no matrix instruction for {} by {}", arch.name,
                           spelling(ir::factorOf(dot, 0)->type.elem), spelling(ir::factorOf(dot, 1)->type.elem)));
    for (const Operand *operand : placed.operands()) {
      if (!operand->value)
        continue;
      const bool isLeft = operand == &placed.a || operand == &placed.scales[0];
      const bool scales = operand == &placed.scales[0] || operand == &placed.scales[1];
      const std::string name = operand->buffer.empty() ? operand->value->name : operand->buffer;
      out.note(plan::Note::Operands, dot.loc,
               fmt::format("{}{} operand{}: {}: {}", scales ? "scales of the " : "", isLeft ? "left" : "right",
                           name.empty() ? "" : " `" + name + "`",
                           operand->kind == Operand::Register ? "in registers" : "in shared memory", operand->why));
    }
  }

  static bool takesRegisters(const arch::MatrixInstruction *instruction) {
    // What a warp multiplies by itself it loads for each product; but an accumulator can be an operand where it stands.
    return instruction && (instruction->registerA || (instruction->issuer == arch::Issuer::Warpgroup &&
                                                      (instruction->aSpaces & arch::Registers) != 0));
  }

  static constexpr std::string_view oneRow = "one row, which goes to every row of the instruction's operand";

  Operand placeOperand(const ir::Op &dot, size_t position, int depth, const arch::MatrixInstruction *instruction) {
    // One row goes to every row of the instruction's operand, so that every thread has its part of the result.
    if (position == 0 && dot.result()->type.rows == 1) {
      if (!takesRegisters(instruction))
        return stage(dot, position, ir::factorOf(dot, 0), false, false);
      return {Operand::Register, ir::factorOf(dot, 0), false, "", false, oneRow};
    }
    auto [value, transposed] = throughTransposes(ir::factorOf(dot, position));
    const bool transposing = isStoredTransposed(dot, position, instruction, *value, transposed);
    if (position == 0 && !transposed && takesRegisters(instruction) &&
        isHeldThroughout(dot, *value, depth, *instruction))
      return {Operand::Register,
              value,
              false,
              "",
              false,
              "it is loaded once a tile, with fewer rows than the instruction has"};
    if (isRingLoad(value, out.contested) || comesByIndex(value))
      return placeLoad(dot, position, *value->definingOp, transposed, transposing);
    if (position == 0 && !transposed && takesRegisters(instruction) && !isDividedByCols(out, dot))
      return {Operand::Register,
              value,
              false,
              "",
              false,
              "it is computed, and the instruction takes a left operand from registers"};
    return stage(dot, position, value, transposed, transposing);
  }

  /// Whether the threads that multiply hold a left operand from before a loop on. The copy engine brings no tile with
  /// fewer rows than the instruction has. So threads of the loading role would copy it, and wait for it, before that
  /// role asks for the first tile of the loop (docs/notes/attention-splits.md).
  bool isHeldThroughout(const ir::Op &dot, const ir::Value &value, int depth,
                        const arch::MatrixInstruction &instruction) const {
    constexpr int64_t mostBytes = 128; // of a row: 16 registers a thread
    const ir::Type &type = value.type;
    return depth > 0 && instruction.issuer == arch::Issuer::Warpgroup && isRingLoad(&value, out.contested) &&
           depthOf(*value.definingOp) == 0 && !schedule.persistent.value_or(false) && !out.copiesItself &&
           !isPacked(type.elem) && type.cols * bitWidth(type.elem) / 8 <= mostBytes &&
           forOperand(dot, 0, false, type).rows > type.rows && !isDividedByCols(out, dot) &&
           std::all_of(value.users.begin(), value.users.end(), [&](const ir::Op *user) {
             return ir::isProduct(*user) && ir::factorOf(*user, 0) == &value && ir::factorOf(*user, 1) != &value;
           });
  }

  /// Whether the instruction wants the other axis of what is stored contiguous.
  bool isStoredTransposed(const ir::Op &dot, size_t position, const arch::MatrixInstruction *instruction,
                          const ir::Value &value, bool transposed) const {
    // The contraction runs along the columns of a left operand and the rows of a right one.
    const bool alongK = (position == 0) != transposed;
    return !alongK &&
           ((instruction && !instruction->anyMajor) || (position == 0 && isNarrowerThanRow(dot, value.type)));
  }

  /// Whether the loading role's threads copy the rows that columns of indices name, as all products take them.
  bool comesByIndex(const ir::Value *value) const {
    return !out.copiesItself && arch.hasAsyncCopy && isRowGather(value, out.contested) &&
           isTakenAsItLies(*value, *value);
  }

  /// Whether all products of `value`, the loaded tile or its transpose, read it in shared memory as it was loaded.
  bool isTakenAsItLies(const ir::Value &value, const ir::Value &loaded, bool transposed = false) const {
    return std::all_of(value.users.begin(), value.users.end(), [&](const ir::Op *user) {
      if (user->kind == ir::OpKind::Transpose)
        return isTakenAsItLies(*user->result(), loaded, !transposed);
      for (const size_t position : {0, 1})
        if (ir::isProduct(*user) && ir::factorOf(*user, position) == &value &&
            ((position == 0 && user->result()->type.rows == 1) ||
             isStoredTransposed(*user, position, instructionOf(*user, arch, out), loaded, transposed)))
          return false;
      return true;
    });
  }

  /// Whether a left operand whose columns are contracted along would be wider in memory than the product has rows: a
  /// row there has 32 bytes at least.
  bool isNarrowerThanRow(const ir::Op &dot, const ir::Type &stored) const {
    const int64_t rows = forOperand(dot, 0, true, stored).cols;
    return !isPacked(stored.elem) && rows % contractedUnit(stored.elem) != 0;
  }

  Operand stage(const ir::Op &dot, size_t position, const ir::Value *value, bool transposed, bool transposing) {
    std::string &name = out.staged[{value, transposing}];
    if (name.empty())
      name = bufferOfClone(value, transposing);
    if (name.empty()) {
      name = out.uniqueBuffer(value->name.empty() ? "staged" : value->name + "_shared");
      ir::Type stored = value->type;
      if (transposing)
        std::swap(stored.rows, stored.cols);
      addBuffer(name, forOperand(dot, position, transposed != transposing, stored), value->type.elem,
                value->definingOp ? value->definingOp->loc : SourceLoc{}, contractedAtOnce(dot));
    }
    return {
        Operand::Staged, value, transposed != transposing, name, transposing, whyStaged(dot, position, transposing)};
  }

  std::string_view whyStaged(const ir::Op &dot, size_t position, bool transposing) const {
    if (transposing)
      return "it is computed, and stored transposed, as the instruction wants the contracted axis contiguous";
    if (position == 0 && dot.result()->type.rows == 1)
      return oneRow;
    if (position == 1)
      return "it is computed, and a right operand is read from shared memory";
    return isDividedByCols(out, dot) ? "it is computed, and every warpgroup needs all its rows"
                                     : "it is computed, and cannot be read from registers as it stands there";
  }

  static std::string_view whyInRing(bool transposing) {
    return transposing ? "it is loaded ahead through a ring, and stored transposed, as the instruction wants the "
                         "contracted axis contiguous"
                       : "it is loaded ahead through a ring";
  }

  /// Loop splitting clones what is staged; a value's clones are never there at the same time, and share its buffer.
  std::string bufferOfClone(const ir::Value *value, bool transposing) const {
    const ir::Op *op = value->definingOp;
    if (!op || !op->loc.isValid())
      return {};
    std::string name;
    for (const auto &[key, buffer] : out.staged) {
      const auto &[other, storesTransposed] = key;
      const ir::Op *source = other->definingOp;
      if (buffer.empty() || storesTransposed != transposing || !source || source->kind != op->kind ||
          source->loc.buffer != op->loc.buffer || source->loc.offset != op->loc.offset ||
          other->type.elem != value->type.elem || other->type.rows != value->type.rows ||
          other->type.cols != value->type.cols)
        continue;
      if (source->parent == op->parent) // not a clone: a function's body that stands here twice
        return {};
      name = buffer;
    }
    return name;
  }

  /// What a product contracts at a time: 32 bytes.
  static int64_t contractedUnit(ElemType elem) { return std::max<int64_t>(16, 32 * 8 / plan::sharedBits(elem)); }

  /// A left operand has the rows of whole instructions for every instance, whichever way it is stored, and both have
  /// whole steps of what is contracted.
  ir::Type forOperand(const ir::Op &dot, size_t position, bool transposed, ir::Type stored) const {
    int64_t &contracted = transposed == (position == 0) ? stored.rows : stored.cols;
    contracted = roundUp(contracted, contractedUnit(stored.elem));
    int64_t &resultAxis = transposed ? stored.cols : stored.rows;
    if (position == 0)
      resultAxis =
          roundUp(resultAxis,
                  rowUnit(out, isDividedByCols(out, dot) ? plan::Division::Cols : plan::Division::Rows, resultAxis));
    return stored;
  }

  Operand placeLoad(const ir::Op &dot, size_t position, const ir::Op &load, bool transposed, bool transposing) {
    const std::string key = loadKey(load) + (transposing ? "^T" : "");
    if (out.loadKeys.emplace(&load, key).first->second != key)
      missing = "two products contract different axes of one loaded tile: it is stored one way; load it a second time";
    if (const RingMember *member = out.findMember(key)) {
      if (transposed != transposing == (position == 0))
        contractRows(*member);
      return {Operand::Ring, load.result(), transposed != transposing, member->buffer, false, whyInRing(transposing)};
    }
    if (transposing && isPacked(load.result()->type.elem))
      missing = "an operand of packed elements is not contiguous along what is contracted";
    RingMember member;
    member.key = key;
    member.load = &load;
    member.transposing = transposing;
    member.buffer = out.uniqueBuffer(load.view.tensor);
    ir::Type stored = load.result()->type;
    if (transposing)
      std::swap(stored.rows, stored.cols);
    const plan::Buffer &buffer = addBuffer(member.buffer, forOperand(dot, position, transposed != transposing, stored),
                                           stored.elem, load.loc, contractedAtOnce(dot));
    const std::string whyNot =
        transposing ? "it is stored transposed" : whyNotByEngine(function, arch, load, buffer, stored);
    member.byEngine = whyNot.empty();
    out.note(
        plan::Note::Copies, load.loc,
        member.byEngine
            ? fmt::format("`{}`: by the copy engine; a tensor that does not suit it when called, by its address or its "
                          "strides, {}is copied by the loading role's threads",
                          load.view.tensor, startsNote(load, buffer.elem))
            : fmt::format("`{}`: by the loading role's threads, as {}", load.view.tensor, whyNot));
    if (member.byEngine)
      out.maps.push_back(makeOperandMap(dot, position, load, buffer));
    ringFor(dot, load).members.push_back(member);
    return {Operand::Ring, load.result(), transposed != transposing, member.buffer, false, whyInRing(transposing)};
  }

  /// Another product contracts the rows of a loaded operand: whole steps of them, of which threads fill what the tile
  /// does not have with zeros.
  void contractRows(const RingMember &member) {
    plan::Buffer &buffer = *out.findBuffer(member.buffer);
    const int64_t rows = roundUp(buffer.rows, contractedUnit(buffer.elem));
    if (rows == buffer.rows)
      return;
    buffer.rows = rows;
    std::erase_if(out.maps, [&](const plan::TensorMap &map) { return map.buffer == buffer.name; });
    for (RingPlacement &ring : out.rings)
      for (RingMember &each : ring.members)
        each.byEngine = each.byEngine && each.buffer != buffer.name;
  }

  /// What a note says of tiles that the engine may not take.
  std::string startsNote(const ir::Op &load, ElemType elem) const {
    if (!arch.hasBulkTensorCopy)
      return "";
    const int64_t step = plan::boxStep(elem, arch.boxAlignment);
    return boxStarts(function, load, step) == BoxStarts::Always
               ? ""
               : fmt::format("and a tile that does not begin at a multiple of {} columns, ", step);
  }

  /// An instance's part of a tile along its columns, where threads stage or multiply it, is whole panels, and where the
  /// matrix engine reads it those or an even part of one: a narrower swizzle where its span does not suit them.
  void narrowPanels() {
    for (const auto &[dot, product] : out.products) {
      const ir::Type &type = dot->result()->type;
      const bool byCols = divisionOf(type.rows, type.cols, out) == plan::Division::Cols;
      if (byCols && !product.b.transposed)
        narrowPanels(product.b.buffer, !product.byThreads);
      if (!byCols && product.a.transposed)
        narrowPanels(product.a.buffer, !product.byThreads);
    }
    for (const auto &[key, buffer] : out.staged) {
      const auto &[value, storesTransposed] = key;
      if (homeOf(out, value).division == (storesTransposed ? plan::Division::Rows : plan::Division::Cols))
        narrowPanels(buffer, false);
    }
  }

  void narrowPanels(const std::string &name, bool evenParts) {
    plan::Buffer *buffer = out.findBuffer(name);
    if (!buffer || buffer->swizzle == plan::Swizzle::None)
      return;
    const int64_t share = plan::sharedBytes(buffer->elem, buffer->cols / out.instances);
    const int64_t span = plan::bytes(buffer->swizzle);
    if (share % span == 0 || (evenParts && span % share == 0))
      return;
    buffer->swizzle = chooseSwizzle(share);
    for (plan::TensorMap &map : out.maps)
      if (map.buffer == name) {
        map.swizzle = buffer->swizzle;
        map.boxCols = map.swizzle == plan::Swizzle::None
                          ? buffer->cols
                          : plan::bytes(map.swizzle) * 8 / plan::sharedBits(buffer->elem);
      }
  }

  /// Loads at one depth that the same product uses first arrive together.
  RingPlacement &ringFor(const ir::Op &dot, const ir::Op &load) {
    const int depth = depthOf(load);
    const std::string group = fmt::format("{}@{}:{}", depth, dot.loc.offset, dot.loc.isValid() ? 0 : dotNumber(dot));
    auto [found, isNew] = ringOfGroup.try_emplace(group, out.rings.size());
    if (isNew) {
      out.rings.push_back({});
      out.rings.back().depth = depth;
    }
    RingPlacement &ring = out.rings[found->second];
    ring.name = ring.name.empty() ? load.view.tensor : ring.name + "_" + load.view.tensor;
    while (std::count_if(out.rings.begin(), out.rings.end(),
                         [&](const auto &other) { return other.name == ring.name; }) > 1)
      ring.name += "2";
    return ring;
  }

  /// What is loaded once a tile, and multiplied in loops alone, is copied there each time.
  void copyAgainInLoops() {
    std::set<std::string> outside; // buffers out of which something else multiplies
    walkTile(nest, [&](const ir::Op &op, int depth) {
      if (depth == 0 && ir::isProduct(op))
        for (const Operand *operand : out.products.at(&op).operands())
          outside.insert(operand->buffer);
    });
    for (RingPlacement &ring : out.rings)
      ring.isCopiedAgain = out.copiesLate && ring.depth == 0 &&
                           std::none_of(ring.members.begin(), ring.members.end(),
                                        [&](const RingMember &member) { return outside.count(member.buffer) != 0; });
  }

  int dotNumber(const ir::Op &dot) {
    return static_cast<int>(dotNumbers.try_emplace(&dot, static_cast<int>(dotNumbers.size())).first->second);
  }

  // ---- buffers
  /// A scaled MFMA sums as many blocks as its lanes hold scales of a row; others take any 32 bytes.
  int64_t contractedAtOnce(const ir::Op &dot) const {
    const bool byWaves = out.layout.kind == plan::Layout::Mfma;
    return ir::isScaled(dot) && byWaves ? int64_t(32) * out.layout.threadsPerRow : 0;
  }

  /// `atOnce`: elements of a row that one instruction contracts.
  plan::Buffer &addBuffer(const std::string &name, const ir::Type &type, ElemType elem, SourceLoc loc,
                          int64_t atOnce = 0) {
    plan::Buffer buffer;
    buffer.name = name;
    buffer.elem = elem;
    // Whole swizzle atoms, and what a product contracts at a time, whichever axis it contracts.
    buffer.rows = roundUp(type.rows, 16);
    buffer.cols = roundUp(type.cols, std::max(contractedUnit(elem), atOnce));
    buffer.swizzle = chooseSwizzle(plan::sharedBytes(elem, buffer.cols));
    buffer.loc = loc;
    out.buffers.push_back(buffer);
    return out.buffers.back();
  }

  // ---- register homes
  void findRegisterLoads() {
    walkTile(nest, [&](const ir::Op &op, int) {
      if (op.kind != ir::OpKind::Load)
        return;
      auto key = out.loadKeys.find(&op);
      if (key == out.loadKeys.end())
        out.registerLoads.insert(&op);
      else if (const RingMember &member = findRingMember(key->second);
               !member.isVector && !member.isReadByThreads && hasVectorUse(op.result())) {
        if (isReadInRing(op))
          findRingMember(key->second).isReadByThreads = true;
        else
          out.registerLoads.insert(&op);
      }
    });
  }

  RingMember &findRingMember(const std::string &key) { return const_cast<RingMember &>(*out.findMember(key)); }

  /// Whether vector work finds what it needs of a tile where products read it. A product that is an iteration late
  /// reads another stage; where one thread issues products, another role drains the ring.
  bool isReadInRing(const ir::Op &load) const {
    const RingMember &member = *out.findMember(out.loadKeys.at(&load));
    const plan::Buffer &buffer = *out.findBuffer(member.buffer);
    const plan::VarType &home = out.types.at(load.result());
    if (out.copiesItself || out.usesTensorMemory() || member.transposing || isPacked(buffer.elem) ||
        home.kind != plan::VarType::Fragment || home.division == plan::Division::Cols || home.elem != buffer.elem ||
        home.rows != buffer.rows || home.cols != buffer.cols)
      return false;
    return isReadInTime(load.result());
  }

  /// Whether a product, by itself and by how it is fed, could be issued an iteration late (ModuloSchedule.h): what
  /// stands around it may yet keep it in its own iteration.
  static bool mayBeLate(const ir::Op &dot, const ProductPlacement &product) {
    const std::vector<ir::Op *> &users = dot.result()->users;
    return !product.byThreads && !product.byWarps && product.a.kind == Operand::Register &&
           product.b.kind == Operand::Ring && ir::addendOf(dot) &&
           std::all_of(users.begin(), users.end(), [](const ir::Op *user) { return user->kind == ir::OpKind::Yield; });
  }

  /// Whether no product that reads the value, or its transpose, can be an iteration late, and nothing else turns it.
  bool isReadInTime(const ir::Value *value) const {
    return std::all_of(value->users.begin(), value->users.end(), [&](const ir::Op *user) {
      if (user->kind == ir::OpKind::Transpose)
        return out.onlyFeedsProducts(user->result()) && isReadInTime(user->result());
      const auto product = out.products.find(user);
      return product == out.products.end() || schedule.overlap == 0 || !mayBeLate(*user, product->second);
    });
  }

  /// Whether anything but a product that reads shared memory uses the value.
  bool hasVectorUse(const ir::Value *value) const {
    return std::any_of(value->users.begin(), value->users.end(), [&](const ir::Op *user) {
      if (user->kind == ir::OpKind::Transpose)
        return hasVectorUse(user->result());
      return !ir::isProduct(*user) || ir::addendOf(*user) == value;
    });
  }

  void assignTypes() {
    Divisions divisions(nest, out);
    auto assign = [&](const ir::Value *value) {
      if (value->type.kind == ir::Type::Tile || value->type.kind == ir::Type::Vector)
        out.types[value] = registerType(value, divisions);
    };
    walkTile(nest, [&](const ir::Op &op, int) {
      for (const auto &result : op.results)
        assign(result.get());
      if (op.kind == ir::OpKind::For)
        for (const auto &arg : op.body().args)
          assign(arg.get());
    });
  }

  plan::VarType registerType(const ir::Value *value, Divisions &divisions) {
    const ir::Type &type = value->type;
    plan::VarType home;
    home.elem = type.elem;
    home.division = !out.hasProducts || out.instances == 1 ? plan::Division::Whole : divisions.of(value);
    int64_t rows = type.rows, cols = type.cols;
    if (type.kind == ir::Type::Vector && !divisions.isColumnVector(value))
      cols = rows, rows = 1;
    if (rows == 1 && cols == 1)
      home.kind = plan::VarType::Scalar;
    else
      home.kind = rows == 1 ? plan::VarType::Row : cols == 1 ? plan::VarType::Column : plan::VarType::Fragment;
    home.layout = out.layoutOf(rows, home.division);
    home.rows = rows == 1 ? 1 : roundUp(rows, rowUnit(out, home.division, rows));
    home.cols = cols == 1 ? 1 : roundUp(cols, colUnit(out, home.division));
    if (home.kind == plan::VarType::Scalar)
      home.layout = {}, home.division = plan::Division::Whole;
    return home;
  }

  /// Beside the operand that they scale, a row for each of its rows or columns.
  Operand placeScales(const ir::Op &dot, size_t side, const Operand &factor) {
    const auto [value, transposed] = throughTransposes(ir::scalesOf(dot, side));
    if (!isRingLoad(value, out.contested)) {
      missing = "the scales of a product are not loaded where the loading role can compute their addresses";
      return {};
    }
    const ir::Op &load = *value->definingOp;
    const bool transposing = (side == 0) == transposed;
    const std::string key = loadKey(load) + (transposing ? "^T" : "");
    out.loadKeys[&load] = key;
    Operand placed{Operand::Ring, load.result(), side == 1, "", false, whyInRing(transposing)};
    if (const RingMember *member = out.findMember(key)) {
      placed.buffer = member->buffer;
      return placed;
    }
    RingMember member;
    member.key = key;
    member.load = &load;
    member.byEngine = false;
    member.transposing = transposing;
    member.buffer = placed.buffer = out.uniqueBuffer(load.view.tensor);
    const int64_t block = ir::factorOf(dot, side)->type.cols / ir::scalesOf(dot, side)->type.cols;
    const int64_t blockDown = ir::factorOf(dot, side)->type.rows / ir::scalesOf(dot, side)->type.rows;
    plan::Buffer buffer;
    buffer.name = member.buffer;
    buffer.elem = load.result()->type.elem;
    buffer.rows = outerExtent(out, factor, side == 0 ? 0 : 1);
    buffer.cols = outerExtent(out, factor, side == 0 ? 1 : 0) / (side == 0 ? block : blockDown);
    if (instructionOf(dot, arch, out)->issuer == arch::Issuer::Thread) // as they are copied to tensor memory
      buffer.rows = roundUp(buffer.rows, 128), buffer.cols = roundUp(buffer.cols, 4);
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = load.loc;
    out.buffers.push_back(buffer);
    ringFor(dot, load).members.push_back(member);
    out.note(plan::Note::Copies, load.loc,
             fmt::format("`{}`: by the loading role's threads, as its rows are shorter than the copy engine's boxes",
                         load.view.tensor));
    return placed;
  }

  const ir::Function &function;
  const Nest &nest;
  const arch::Description &arch;
  const Schedule &schedule;
  const int mostInstances;
  Placement out;
  std::string missing; ///< what no placement can give
  std::map<std::string, size_t> ringOfGroup;
  ir::OpMap<int> dotNumbers;
};

} // namespace

Placement place(const ir::Function &function, const Nest &nest, const arch::Description &arch, const Schedule &schedule,
                std::string &error) {
  constexpr int any = 32;
  Placement placed = Placer(function, nest, arch, schedule, any).run(error);
  // Fewer instances have more rows each of the largest product, and share those of smaller ones.
  for (int fewer = placed.instances - 1; fewer > 0 && !error.empty() && !schedule.warpgroups && !schedule.warps;
       --fewer) {
    std::string stillWrong;
    Placement other = Placer(function, nest, arch, schedule, fewer).run(stillWrong);
    if (stillWrong.empty()) {
      error.clear();
      return other;
    }
  }
  return placed;
}

} // namespace tkc::planner
