// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What statements ask of the threads of an instance: a table of instructions by operation, times elements.
#include "backends/cost/Program.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::cost {

using ir::OpKind;
using plan::Division;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

constexpr int64_t bankBytes = 4; ///< that a bank of shared memory gives at once
/// Times that a read of another block's shared memory takes as long as one of the block's own. An H100 read 21 to 34
/// bytes a clock of other blocks (docs/notes/sums-in-slices.md).
constexpr double otherBlocks = 5;

/// Instructions for one element of f32, as the runtime's headers (tk/math.h, tk/elementwise.h) come out of the
/// compiler.
Work perElement(const Stmt &stmt) {
  switch (stmt.op) {
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Mul:
  case OpKind::Neg:
  case OpKind::Abs:
    return {.multiplyAdds = 1};
  case OpKind::Exp2:
    return {.special = 1};
  case OpKind::Exp:
    return {.multiplyAdds = 1, .special = 1};
  case OpKind::Log2:
  case OpKind::Rcp:
  case OpKind::Rsqrt:
  case OpKind::Sqrt:
    return {.special = 1};
  case OpKind::Log:
    return {.multiplyAdds = 1, .special = 1};
  case OpKind::Div: // div.full: the quotient with a range that needs two scalings
    return {.multiplyAdds = 4, .simple = 3, .special = 1};
  case OpKind::Sigmoid:
    return {.multiplyAdds = 2, .special = 2};
  case OpKind::Tanh: // of a tile that is near 0, beside the products before and after it (tk/tanh.h)
    return {.multiplyAdds = 3, .simple = 1};
  case OpKind::Erf: // a polynomial on either side of 1, one of them with exp2
    return {.multiplyAdds = 11, .simple = 5, .special = 1, .others = 2};
  case OpKind::Sin:
  case OpKind::Cos:
    return {.multiplyAdds = 6, .simple = 3, .special = 1};
  case OpKind::Floor:
  case OpKind::Not:
  case OpKind::Mod:
  case OpKind::Max:
  case OpKind::Min:
  case OpKind::And:
  case OpKind::Or:
  case OpKind::Xor:
  case OpKind::Shl:
  case OpKind::Shr:
  case OpKind::Eq:
  case OpKind::Ne:
  case OpKind::Lt:
  case OpKind::Le:
  case OpKind::Gt:
  case OpKind::Ge:
  case OpKind::Select:
  case OpKind::Iota:
  case OpKind::Elements:
    return {.simple = 1};
  case OpKind::Cast: // two to one instruction where they become narrow
    return {.simple = 0.5};
  case OpKind::Philox: // ten rounds for four values
    return {.simple = 20, .others = 5};
  case OpKind::ExternCall:
    return {.multiplyAdds = 8, .simple = 4};
  case OpKind::Cumsum:
    return {.multiplyAdds = 2, .shuffles = 1};
  case OpKind::Transpose:
    return {.others = 2, .sharedBytes = 8};
  case OpKind::Const:
  case OpKind::Dim:
  case OpKind::Param:
  case OpKind::Full:
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Shift:
  case OpKind::ToScalar:
  case OpKind::AsCol:
  case OpKind::AsRow:
  case OpKind::Reduce:
  case OpKind::Dot:
  case OpKind::DotScaled:
  case OpKind::Load:
  case OpKind::Store:
  case OpKind::Atomic:
  case OpKind::Parallel:
  case OpKind::For:
  case OpKind::If:
  case OpKind::Yield:
    return {};
  }
  return {};
}

Work times(Work work, double count) {
  for (double *each : {&work.multiplyAdds, &work.simple, &work.special, &work.shuffles, &work.others, &work.sharedBytes,
                       &work.tensorValues, &work.matrixClocks})
    *each *= count;
  return work;
}

/// Elements of a variable that all threads of one instance hold together, copies counted.
double heldElements(const VarType &type, const plan::Role &role) {
  const double threads = role.warps * role.lanes;
  const double rows = static_cast<double>(type.division == Division::Rows ? type.rows / role.instances : type.rows);
  const double cols = static_cast<double>(type.division == Division::Cols ? type.cols / role.instances : type.cols);
  const double across = std::max(type.layout.threadsPerRow, 1);
  // A layout may spread a tile over fewer or more threads than an instance has.
  const double sharing = std::max(threads / std::max(type.layout.threads, 1), 1.0);
  switch (type.kind) {
  case VarType::Fragment:
  case VarType::Share:
    return std::max(rows * cols, threads);
  case VarType::Column:
    return std::max(rows * across * sharing, threads);
  case VarType::Row:
    return std::max(cols * std::max(threads / across, 1.0), threads);
  case VarType::Scalar:
  case VarType::TileIndex:
  case VarType::Cursor:
    return threads;
  }
  return threads;
}

const VarType *find(const plan::Role &role, const std::string &name) {
  const plan::Var *var = role.findVar(name);
  return var ? &var->type : nullptr;
}

/// A reduction: each thread its own elements, then the threads of a row or column.
Work reduction(const plan::Role &role, const Stmt &stmt, const VarType &from) {
  const double elements = heldElements(from, role);
  const bool sums = stmt.reduce == ir::ReduceKind::Sum || stmt.reduce == ir::ReduceKind::Prod;
  Work work = sums ? Work{.multiplyAdds = elements} : Work{.simple = elements};
  const VarType *to = find(role, stmt.dest);
  const double results = to ? heldElements(*to, role) : role.warps * role.lanes;
  double sharing = stmt.axis == 1 ? from.layout.threadsPerRow : role.lanes / std::max(from.layout.threadsPerRow, 1);
  for (sharing = std::min<double>(sharing, role.lanes); sharing > 1; sharing /= 2)
    work += Work{.multiplyAdds = sums ? results : 0, .simple = sums ? 0 : results, .shuffles = results};
  if (!stmt.ref.buffer.empty())
    work += Work{.others = 4.0 * role.warps * role.lanes, .sharedBytes = results * 8};
  return work;
}

double bytesOfView(const Stmt &stmt, const plan::Plan &plan, double elements) {
  for (const ir::Param &param : plan.params)
    if (param.name == stmt.view.tensor)
      return elements * bitWidth(param.elem) / 8;
  return elements * 4;
}

/// Accesses of threads to global memory: vectors of up to 16 bytes.
Work accesses(const plan::Plan &plan, const plan::Role &role, const Stmt &stmt, const VarType &type, int alignment) {
  const double elements = heldElements(type, role), bytes = bytesOfView(stmt, plan, elements);
  const double each = std::min<double>(alignment, std::max(bytes / elements * std::max(type.layout.vec, 1), 1.0));
  const double count = type.kind == VarType::Fragment || type.kind == VarType::Row ? bytes / each : elements;
  const double checks = stmt.kind == StmtKind::Load ? 1 : 2;
  return {.simple = checks * count, .others = 2 * count, .sharedBytes = bytes};
}

/// Tiles between registers and shared memory, 16 bytes an instruction.
Work sharedAccess(const plan::Role &role, const VarType &type) {
  const double bytes = heldElements(type, role) * bitWidth(type.elem) / 8;
  return {.simple = bytes / 32, .others = bytes / 16, .sharedBytes = bytes};
}

/// How many words one bank has to give where threads side by side, as many as there are banks, read an element each of
/// a transposed tile.
double bankConflicts(const plan::Buffer &buffer, const plan::Layout &layout, int64_t banks) {
  const int64_t swizzle = plan::bytes(buffer.swizzle);
  std::map<int64_t, std::set<int64_t>> words; // of each bank
  for (int64_t thread = 0; thread < banks; ++thread) {
    const int64_t row = thread % layout.threadsPerRow * layout.vec, col = thread / layout.threadsPerRow;
    const int64_t swizzled = swizzle > 0 ? row % (swizzle / 16) * 16 : 0;
    const int64_t word = (plan::sharedBytes(buffer.elem, row * buffer.cols + col) ^ swizzled) / bankBytes;
    words[word % banks].insert(word);
  }
  size_t most = 1;
  for (const auto &[bank, needed] : words)
    most = std::max(most, needed.size());
  return static_cast<double>(most);
}

/// What vector work reads transposed comes element by element.
Work transposedAccess(const plan::Plan &plan, const plan::Role &role, const Stmt &stmt, const VarType &type,
                      int64_t sharedSpan) {
  const plan::Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
  if (!buffer || !stmt.ref.transposed || type.kind != VarType::Fragment || type.layout.kind != plan::Layout::Rows)
    return sharedAccess(role, type);
  const double elements = heldElements(type, role);
  return {.simple = elements / 2,
          .others = elements,
          .sharedBytes = elements * bankBytes * bankConflicts(*buffer, type.layout, sharedSpan / bankBytes)};
}

/// Each thread reads an element of its own choice: a comparison with the table's size, an address, a load. Equal words
/// are read once. A table of one row of the banks has one word in each bank; of more rows, threads side by side ask a
/// bank for about as many words, but seldom for more than four.
Work lookUps(const plan::Plan &plan, const plan::Role &role, const Stmt &stmt, const VarType &type,
             int64_t sharedSpan) {
  constexpr double mostWords = 4;
  const plan::Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
  const double bytes = buffer ? static_cast<double>(buffer->stageBytes()) : 0;
  const double elements = heldElements(type, role), words = std::clamp(bytes / sharedSpan, 1.0, mostWords);
  return {.simple = 2 * elements,
          .others = elements,
          .sharedBytes = elements * std::max<double>(bankBytes, byteWidth(type.elem)) * words};
}

} // namespace

Work workOf(const plan::Plan &plan, const plan::Role &role, const Stmt &stmt, int alignment, int64_t sharedSpan) {
  const double threads = role.warps * role.lanes;
  const VarType *dest = find(role, stmt.dest);
  const VarType *last = stmt.operands.empty() ? nullptr : find(role, stmt.operands.back());
  switch (stmt.kind) {
  case StmtKind::Compute: {
    if (!dest)
      return {.others = threads};
    if (stmt.op == OpKind::Reduce)
      if (const VarType *from = find(role, stmt.operands[0]))
        return reduction(role, stmt, *from);
    Work work = times(perElement(stmt), heldElements(*dest, role));
    if (stmt.op == OpKind::Cast && bitWidth(dest->elem) > 16)
      work.simple *= 2;
    if (stmt.op == OpKind::Exp2 && stmt.count > 0) { // a share of them by polynomials
      const double share = stmt.count / 16.0, elements = heldElements(*dest, role);
      work.special *= 1 - share;
      work += times({.multiplyAdds = stmt.degree + 1.0, .simple = 4, .others = 1}, elements * share);
    }
    return work;
  }
  case StmtKind::Move:
  case StmtKind::Spread:
    return {}; // registers are renamed
  case StmtKind::Load:
    return dest ? accesses(plan, role, stmt, *dest, alignment) : Work{.others = 4 * threads};
  case StmtKind::Store:
    return last ? accesses(plan, role, stmt, *last, alignment) : Work{.others = 4 * threads};
  case StmtKind::Atomic:
    return last ? times(accesses(plan, role, stmt, *last, alignment), 2) : Work{.others = 8 * threads};
  case StmtKind::LoadShared: {
    Work work = dest ? transposedAccess(plan, role, stmt, *dest, sharedSpan) : Work{};
    work.sharedBytes *= stmt.fromBlock > 0 ? otherBlocks : 1;
    return work;
  }
  case StmtKind::LookUp:
    return dest ? lookUps(plan, role, stmt, *dest, sharedSpan) : Work{};
  case StmtKind::StoreShared: {
    if (!last)
      return {};
    Work work = sharedAccess(role, *last);
    const double share = stmt.colHi > 0 ? static_cast<double>(stmt.colHi - stmt.colLo) / last->cols : 1;
    return times(work, share);
  }
  case StmtKind::Fetch:
    return dest ? accesses(plan, role, stmt, *dest, alignment) : Work{};
  case StmtKind::Place:
    return last ? sharedAccess(role, *last) : Work{};
  case StmtKind::LoadTensor:
    return dest ? Work{.others = heldElements(*dest, role) / 16, .tensorValues = heldElements(*dest, role)} : Work{};
  case StmtKind::StoreTensor:
    return last ? Work{.others = heldElements(*last, role) / 16,
                       .tensorValues = heldElements(*last, role) * bitWidth(last->elem) / 32}
                : Work{};
  case StmtKind::ScaleTensor: {
    const plan::TensorBuffer *buffer = plan.findTensor(stmt.ref.buffer);
    const double elements = buffer ? static_cast<double>(buffer->rows * buffer->cols) /
                                         (stmt.ref.slice == Division::Whole ? 1 : role.instances)
                                   : 0;
    return {.multiplyAdds = elements, .others = elements / 8, .tensorValues = 2 * elements};
  }
  case StmtKind::Sync:
  case StmtKind::Stagger:
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
  case StmtKind::Wait:
  case StmtKind::Arrive:
    return {.others = 4 * threads};
  case StmtKind::Expect:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::BulkCommit:
  case StmtKind::BulkWait:
  case StmtKind::CopyCommit:
  case StmtKind::CopyWait:
  case StmtKind::Product:
  case StmtKind::ProductCommit:
  case StmtKind::ProductWait:
  case StmtKind::Advance:
  case StmtKind::ClusterSync:
  case StmtKind::Claim:
  case StmtKind::NextTile:
  case StmtKind::Record:
  case StmtKind::WaitForPrevious:
  case StmtKind::For:
  case StmtKind::If:
  case StmtKind::Ahead:
  case StmtKind::Each:
    return {};
  }
  return {};
}

} // namespace tkc::cost
