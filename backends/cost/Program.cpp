// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Program.h"
#include "backends/cost/Grid.h"
#include "ir/plan/verify/Verify.h"
#include "support/Tensor.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tkc::cost {

using ir::OpKind;
using plan::Division;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

double part(int64_t whole, bool divided, int instances) {
  return static_cast<double>(whole) / (divided ? instances : 1);
}

class Compiler {
public:
  Compiler(const plan::Plan &plan, const plan::Role &role, const Machine &machine, const CallShape &call)
      : plan(plan), role(role), machine(machine), call(call) {
    program.role = &role;
    program.oneThread = plan::runsOnOneThread(role);
    for (const plan::Body *body : {&role.body, &role.finish})
      plan::walk(*body, [&](const Stmt &stmt) { countReads(stmt); });
  }

  RoleProgram run() {
    program.body = nodes(role.body);
    program.finish = nodes(role.finish);
    program.variables = static_cast<int>(variables.size());
    program.cursors = static_cast<int>(cursors.size());
    return std::move(program);
  }

private:
  void countReads(const Stmt &stmt) {
    for (const std::string &name : stmt.operands) {
      ++readers[name];
      lastReader[name] = &stmt;
    }
  }

  std::vector<Node> nodes(const plan::Body &body) {
    std::vector<Node> result;
    result.reserve(body.size());
    for (const Stmt &stmt : body)
      result.push_back(node(stmt));
    return result;
  }

  int variable(const std::string &name) {
    return variables.emplace(name, static_cast<int>(variables.size())).first->second;
  }

  bool isTile(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    return var && var->type.kind != VarType::Scalar && var->type.kind != VarType::TileIndex &&
           var->type.kind != VarType::Cursor;
  }

  Node node(const Stmt &stmt) {
    Node result;
    result.stmt = &stmt;
    result.work = isFused(stmt) ? Work{} : workOf(plan, role, stmt, alignmentOf(stmt), machine.arch.sharedSpan);
    if (const plan::Var *var = role.findVar(stmt.dest)) {
      result.destType = var->type;
      result.isScalar = var->type.kind == VarType::Scalar || var->type.kind == VarType::TileIndex;
    }
    if (!stmt.dest.empty() && isTile(stmt.dest))
      result.dest = variable(stmt.dest);
    for (const std::string &name : stmt.operands)
      if (isTile(name))
        result.reads.push_back(variable(name));
    result.endsReduction = stmt.kind == StmtKind::Compute && stmt.op == OpKind::Reduce;
    if (const plan::BarrierRef *ref = stmt.barrier())
      result.barrier = static_cast<int>(plan.findBarrier(ref->barrier) - plan.barriers.data());
    if (const plan::VarName cursor = plan::cursorOf(stmt); !cursor.empty()) {
      result.cursor = cursors.emplace(cursor, static_cast<int>(cursors.size())).first->second;
      if (const plan::Var *var = role.findVar(cursor))
        result.ringStages = static_cast<int>(std::max<int64_t>(var->type.rows, 1));
    }
    result.traffic = trafficOf(stmt);
    if (stmt.kind == StmtKind::Product)
      product(stmt, result);
    if (stmt.kind == StmtKind::CopyIn && !program.oneThread && (stmt.isThreadCopy() || stmt.map.empty()))
      result.work += Work{
          .simple = result.traffic.bytes / 8, .others = result.traffic.bytes / 8, .sharedBytes = result.traffic.bytes};
    if (stmt.kind == StmtKind::CopyOut && stmt.map.empty())
      result.work += copiedOut(stmt, result.traffic.bytes);
    result.demand = machine.demandOf(result.work);
    result.prologue = nodes(stmt.prologue);
    result.body = nodes(stmt.body);
    result.epilogue = nodes(stmt.epilogue);
    result.orElse = nodes(stmt.orElse);
    return result;
  }

  /// A product of elements that one addition reads, and nothing else: a multiply-add.
  bool isFused(const Stmt &stmt) const {
    if (stmt.kind != StmtKind::Compute || stmt.op != OpKind::Mul || !isTile(stmt.dest) || readers.count(stmt.dest) == 0)
      return false;
    const Stmt &reader = *lastReader.at(stmt.dest);
    return readers.at(stmt.dest) == 1 && reader.kind == StmtKind::Compute &&
           (reader.op == OpKind::Add || reader.op == OpKind::Sub);
  }

  int alignmentOf(const Stmt &stmt) const {
    for (const ir::Param &param : plan.params)
      if (param.name == stmt.view.tensor)
        return rowAlignment(param, call);
    return maxAlignment;
  }

  /// Rows of a box that begin inside of a line of L2 ask for two, or, if inside of a sector, for more. Of blocks that
  /// load for each other each asks for its share. What the engine cannot take is copied by threads.
  double requestsFor(const Stmt &copy) const {
    const int alignment = alignmentOf(copy);
    const double requests = alignment == 64 ? 1.5 : alignment == 32 ? 1.75 : alignment == 16 ? 2.62 : 1;
    return requests / (copy.multicast == Division::Whole || copy.toFirst ? 1 : plan.blocksAlong(copy.along));
  }

  double elementBytes(const std::string &tensor) const {
    for (const ir::Param &param : plan.params)
      if (param.name == tensor)
        return bitWidth(param.elem) / 8.0;
    return 4;
  }

  /// Elements that the threads of one instance touch in global memory; those that all instances hold count for one.
  double touchedElements(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    if (!var)
      return 1;
    const VarType &type = var->type;
    const double rows = part(type.rows, type.division != Division::Cols, role.instances);
    const double cols = part(type.cols, type.division == Division::Cols, role.instances);
    switch (type.kind) {
    case VarType::Fragment:
    case VarType::Share:
      return rows * cols;
    case VarType::Column:
      return rows;
    case VarType::Row:
      return part(type.cols, true, role.instances);
    case VarType::Scalar:
    case VarType::TileIndex:
    case VarType::Cursor:
      return 1;
    }
    return 1;
  }

  /// A warp's store takes from each thread as many neighbours of a row as the row's alignment allows.
  double writesPerSector(const Stmt &store) const {
    const plan::Var *var = role.findVar(store.operands.back());
    if (!var || var->type.kind != VarType::Fragment || var->type.layout.aligned)
      return 1;
    constexpr double sector = 32;
    const double alignment = std::min(alignmentOf(store), 16);
    const double run = plan::runOf(var->type.layout) * elementBytes(store.view.tensor);
    const double stored = std::min(run, alignment) / run; // of what lies between its first and last byte in a row
    const double span = std::min(run * var->type.layout.threadsPerRow, sector);
    const double straddled = 1 + std::max(span - alignment, 0.0) / sector;
    return std::max(sector / (span * stored), 1.0) * (stored < 1 || span < sector ? straddled : 1);
  }

  /// By threads, 16 bytes at a time. Those of rows that begin anywhere are shifted, and find out where the row begins.
  Work copiedOut(const Stmt &copy, double bytes) const {
    const double vectors = bytes / 16;
    return alignmentOf(copy) >= 16 ? Work{.simple = vectors, .others = 2 * vectors, .sharedBytes = 2 * bytes}
                                   : Work{.simple = 30 * vectors, .others = 60 * vectors, .sharedBytes = 3 * bytes};
  }

  /// Sectors that threads write of one that they have, where rows begin inside of sectors: vectors of 16 bytes from the
  /// first multiple of 16 on lie in half a sector more, and both ends go by themselves.
  double writesPerSector(const Stmt &copy, const plan::Buffer &buffer) const {
    constexpr double sector = 32, vector = 16;
    if (alignmentOf(copy) >= vector)
      return 1;
    const double bytes =
        part(buffer.cols, copy.ref.slice == Division::Cols, role.instances) * bitWidth(buffer.elem) / 8;
    return ((bytes - vector) / sector + 0.5 + 2) / (bytes / sector);
  }

  Traffic trafficOf(const Stmt &stmt) const {
    switch (stmt.kind) {
    case StmtKind::Load:
    case StmtKind::Fetch:
      return {.bytes = touchedElements(stmt.dest) * elementBytes(stmt.view.tensor)};
    case StmtKind::Store:
      return {.bytes = touchedElements(stmt.operands.back()) * elementBytes(stmt.view.tensor),
              .toMemory = true,
              .writes = writesPerSector(stmt)};
    case StmtKind::Atomic:
      return {.bytes = touchedElements(stmt.operands.back()) * elementBytes(stmt.view.tensor),
              .toMemory = true,
              .updates = true};
    case StmtKind::CopyIn: {
      const plan::Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
      double bytes = buffer ? static_cast<double>(buffer->copiedBytes()) : 0;
      // Threads share what they copy; the copy engine is asked once, by one thread.
      if (stmt.isThreadCopy())
        bytes /= role.instances;
      // A share for several blocks of a cluster: as much comes from the others.
      return {.bytes = bytes, .requests = stmt.map.empty() ? 1 : requestsFor(stmt)};
    }
    case StmtKind::CopyOut: {
      const plan::Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
      double bytes = buffer ? static_cast<double>(buffer->stageBytes()) : 0;
      const bool byAll = stmt.map.empty() && buffer && buffer->instances == 1;
      if (stmt.ref.slice != Division::Whole || byAll)
        bytes /= role.instances;
      return {.bytes = bytes,
              .toMemory = true,
              .updates = stmt.reducing,
              .writes = buffer && stmt.map.empty() ? writesPerSector(stmt, *buffer) : 1};
    }
    default:
      return {};
    }
  }

  ElemType elemOf(const plan::BufferRef &ref) const {
    if (const plan::Buffer *shared = plan.findBuffer(ref.buffer))
      return shared->elem;
    const plan::TensorBuffer *tensor = plan.findTensor(ref.buffer);
    return tensor ? tensor->elem : ElemType::BF16;
  }

  void product(const Stmt &stmt, Node &result) const {
    double rows = 64, cols = 64;
    if (stmt.isTensorProduct()) {
      const plan::TensorBuffer &to = *plan.findTensor(stmt.destRef.buffer);
      rows = part(to.rows, stmt.destRef.slice == Division::Rows, role.instances);
      cols = part(to.cols, stmt.destRef.slice == Division::Cols, role.instances);
    } else if (const plan::Var *to = role.findVar(stmt.dest)) {
      rows = part(to->type.rows, to->type.division == Division::Rows, role.instances);
      cols = part(to->type.cols, to->type.division == Division::Cols, role.instances);
    }
    const plan::Buffer *b = plan.findBuffer(stmt.ref.buffer);
    const double k = b ? static_cast<double>(stmt.ref.transposed ? b->cols : b->rows) : 16;
    const ElemType bElem = elemOf(stmt.ref);
    ElemType aElem = stmt.aShared ? elemOf(stmt.aRef) : bElem;
    const bool aInShared = stmt.aShared && plan.findBuffer(stmt.aRef.buffer) != nullptr;
    result.macs = rows * cols * k;
    // Each instruction reads its columns of b again: by 64 rows of a warpgroup, by 128 of a thread, by those of a warp.
    const double instructions =
        stmt.byWarps || stmt.byThreads ? role.warps : std::ceil(rows / (stmt.isTensorProduct() ? 128 : 64));
    const double bytes = bitWidth(bElem) / 8.0;
    const double shared =
        (aInShared ? rows * k * bytes : 0) + instructions * cols * k * bytes * (stmt.byPair ? 0.5 : 1);
    if (stmt.byThreads) {
      result.work += Work{.multiplyAdds = result.macs, .others = result.macs / 4, .sharedBytes = result.macs};
      return;
    }
    const double clocks =
        machine.matrixClocks(aElem, bElem, !stmt.scales.empty(), result.macs, stmt.byWarps ? 0 : shared);
    if (!stmt.byWarps) {
      result.matrixNs = machine.clocks(clocks);
      result.operandBytes = shared;
      return;
    }
    // Fragments come from shared memory, 16 bytes a thread at a time; an instruction multiplies 16 × 8 × 16.
    result.work += Work{.simple = shared / 32,
                        .others = shared / 16 + result.macs / 2048 * 32,
                        .sharedBytes = shared,
                        .matrixClocks = clocks};
  }

  const plan::Plan &plan;
  const plan::Role &role;
  const Machine &machine;
  const CallShape &call;
  RoleProgram program;
  std::unordered_map<std::string, int> variables, cursors, readers;
  std::unordered_map<std::string, const Stmt *> lastReader;
};

double weigh(const std::vector<Node> &nodes) {
  double sum = 0;
  walk(nodes, [&](const Node &node) { sum += at(node.demand, Unit::Issue) + at(node.demand, Unit::Matrix); });
  return sum;
}

} // namespace

Program compile(const plan::Plan &plan, const Machine &machine, const CallShape &call) {
  Program program;
  program.plan = &plan;
  for (const plan::Role &role : plan.roles)
    program.roles.push_back(Compiler(plan, role, machine, call).run());
  for (size_t i = 1; i < program.roles.size(); ++i)
    if (weigh(program.roles[i].body) > weigh(program.roles[program.computing].body))
      program.computing = i;
  return program;
}

} // namespace tkc::cost
