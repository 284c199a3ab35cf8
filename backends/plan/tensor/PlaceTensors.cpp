// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/PlaceTensors.h"

#include "backends/plan/roles/RoleBuilder.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

bool isAsynchronous(const plan::Stmt &stmt) { return stmt.kind == Kind::Product && !stmt.isSynchronous(); }

class Homes {
public:
  Homes(plan::Role &role, const Placement &placement, const std::set<std::string> &inRegisters)
      : role(role), placement(placement), inRegisters(inRegisters) {
    walk(role.body, [&](const plan::Stmt &stmt) {
      if (isAsynchronous(stmt))
        homed.insert(stmt.dest);
      count(stmt);
    });
  }

  TensorHomes run() {
    rewrite(role.body);
    keepWholeRings();
    return std::move(result);
  }

private:
  /// Zero: nowhere yet, as nobody has asked for the zeros that it is to hold.
  enum class Holds : uint8_t { Zero, Registers, Tensor, Both };

  void count(const plan::Stmt &stmt) {
    for (const std::string &name : namesOf(stmt))
      ++accesses[name];
  }

  static std::set<std::string> namesOf(const plan::Stmt &stmt) {
    std::set<std::string> names(stmt.operands.begin(), stmt.operands.end());
    if (!stmt.dest.empty())
      names.insert(stmt.dest);
    return names;
  }

  // ---- buffers
  plan::BufferRef bufferOf(const std::string &var) {
    const plan::VarType &type = role.findVar(var)->type;
    const std::string name = tensorBufferOf(placement, var);
    if (std::none_of(result.buffers.begin(), result.buffers.end(), [&](const auto &it) { return it.name == name; })) {
      plan::TensorBuffer buffer;
      buffer.name = name;
      buffer.elem = type.elem;
      buffer.rows = type.rows;
      buffer.cols = type.cols;
      buffer.swizzle = plan::Swizzle::None;
      buffer.instructionRows = type.layout.kind == plan::Layout::Tensor ? 128 : 64;
      result.buffers.push_back(buffer);
    }
    return {name, "", false, type.division};
  }

  // ---- statements
  plan::Stmt &emit(Kind kind, SourceLoc loc) { return plan::append(*out, kind, loc); }

  void load(const std::string &var, SourceLoc loc) {
    const plan::BufferRef ref = bufferOf(var);
    plan::Stmt &stmt = emit(Kind::LoadTensor, loc);
    stmt.dest = var;
    stmt.ref = ref;
  }

  void store(const std::string &var, SourceLoc loc) {
    const plan::BufferRef ref = bufferOf(var);
    plan::Stmt &stmt = emit(Kind::StoreTensor, loc);
    stmt.operands = {var};
    stmt.ref = ref;
  }

  void rewrite(plan::Body &body) {
    plan::Body *saved = out;
    plan::Body rewritten;
    out = &rewritten;
    for (plan::Stmt &stmt : body)
      step(stmt);
    out = saved;
    body = std::move(rewritten);
  }

  void step(plan::Stmt &stmt) {
    if (stmt.kind == Kind::For)
      return loop(stmt);
    if (stmt.kind == Kind::If)
      return branch(stmt);
    if (isAsynchronous(stmt))
      return product(stmt);
    if (scaleInPlace(stmt) || isZeroToCome(stmt))
      return;
    for (const std::string &operand : stmt.operands)
      inRegistersToo(operand, stmt.loc);
    if (stmt.kind == Kind::Product && stmt.accumulate) // by threads
      inRegistersToo(stmt.dest, stmt.loc);
    if (homed.count(stmt.dest))
      holds[stmt.dest] = Holds::Registers;
    noteZero(stmt);
    out->push_back(std::move(stmt));
  }

  bool isZeroToCome(const plan::Stmt &stmt) {
    const bool fills = stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Full && zeros.count(stmt.operands[0]) != 0;
    const bool copies = stmt.kind == Kind::Move && zeros.count(stmt.operands[0]) && zeroing.count(stmt.operands[0]);
    if (!fills && !copies)
      return false;
    plan::Stmt made = fills ? stmt : zeroing.at(stmt.operands[0]);
    made.dest = stmt.dest;
    zeroing.insert_or_assign(stmt.dest, std::move(made));
    if (!homed.count(stmt.dest))
      return false;
    zeros.insert(stmt.dest);
    holds[stmt.dest] = Holds::Zero;
    return true;
  }

  void materialize(const std::string &var) {
    const auto found = holds.find(var);
    if (found == holds.end() || found->second != Holds::Zero)
      return;
    out->push_back(zeroing.at(var));
    found->second = Holds::Registers;
  }

  void inRegistersToo(const std::string &var, SourceLoc loc) {
    materialize(var);
    const auto found = holds.find(var);
    if (found == holds.end() || found->second != Holds::Tensor)
      return;
    load(var, loc);
    found->second = Holds::Both;
  }

  void inTensorToo(const std::string &var, SourceLoc loc) {
    materialize(var);
    const auto found = holds.find(var);
    if (found == holds.end() || found->second != Holds::Registers)
      return;
    store(var, loc);
    found->second = Holds::Both;
  }

  void noteZero(const plan::Stmt &stmt) {
    const auto isZero = [&](size_t i) { return i < stmt.operands.size() && zeros.count(stmt.operands[i]) != 0; };
    const bool makes = (stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Const && stmt.constant == 0) ||
                       (stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Full && isZero(0)) ||
                       (stmt.kind == Kind::Move && isZero(0));
    if (makes)
      zeros.insert(stmt.dest);
    else
      zeros.erase(stmt.dest);
  }

  void product(plan::Stmt &stmt) {
    const std::string dest = std::exchange(stmt.dest, "");
    if (stmt.accumulate)
      inTensorToo(dest, stmt.loc);
    if (!stmt.aShared) {
      store(stmt.operands[0], stmt.loc);
      stmt.aRef = bufferOf(stmt.operands[0]);
      stmt.aShared = true;
      stmt.operands.clear();
    }
    stmt.destRef = bufferOf(dest);
    stmt.one = true;
    const SourceLoc loc = stmt.loc;
    holds[dest] = Holds::Tensor;
    zeros.erase(dest);
    out->push_back(std::move(stmt));
    if (!inRegisters.count(dest))
      return;
    load(dest, loc); // and others have its columns until the next product
    holds[dest] = Holds::Registers;
  }

  /// x *= column, where x is in tensor memory only.
  bool scaleInPlace(plan::Stmt &stmt) {
    if (stmt.kind != Kind::Compute || stmt.op != ir::OpKind::Mul || stmt.operands.size() != 2)
      return false;
    const auto found = holds.find(stmt.dest);
    if (found == holds.end() || found->second != Holds::Tensor)
      return false;
    const bool first = stmt.operands[0] == stmt.dest;
    const std::string by = stmt.operands[first ? 1 : 0];
    const plan::Var *factor = role.findVar(by);
    const plan::VarType &type = role.findVar(stmt.dest)->type;
    if (stmt.operands[first ? 0 : 1] != stmt.dest || by == stmt.dest || !factor || factor->type.elem != type.elem ||
        factor->type.kind != plan::VarType::Column)
      return false;
    const plan::BufferRef ref = bufferOf(stmt.dest);
    plan::Stmt &scale = emit(Kind::ScaleTensor, stmt.loc);
    scale.operands = {by};
    scale.ref = ref;
    return true;
  }

  // ---- loops
  /// Whether the loop that starts it from zero has all its products, the first iteration's and the others', and one
  /// load is all else.
  bool isRing(const std::string &buffer) const {
    int products = 0, loads = 0, others = 0;
    walk(role.body, [&](const plan::Stmt &stmt) {
      products += stmt.isTensorProduct() && stmt.destRef.buffer == buffer ? 1 : 0;
      if (stmt.ref.buffer == buffer)
        ++(stmt.kind == Kind::LoadTensor ? loads : others);
    });
    return products == 2 && loads == 1 && others == 0;
  }

  /// A loop's accumulators are rings together or not at all: its products are waited for in one way.
  void keepWholeRings() {
    const std::set<std::string> candidates = std::exchange(result.rings, {});
    walk(role.body, [&](const plan::Stmt &loop) {
      std::set<std::string> filled;
      for (const plan::Stmt &stmt : loop.prologue)
        if (stmt.isTensorProduct())
          filled.insert(stmt.destRef.buffer);
      const bool areRings = std::all_of(filled.begin(), filled.end(), [&](const std::string &buffer) {
        return candidates.count(buffer) != 0 && isRing(buffer);
      });
      if (areRings)
        result.rings.merge(filled);
    });
  }

  static void countIn(const plan::Body &body, std::map<std::string, int> &counts) {
    walk(body, [&](const plan::Stmt &stmt) {
      for (const std::string &name : namesOf(stmt))
        ++counts[name];
    });
  }

  /// Whether the first access of `var` in the body needs what it held before.
  static bool readsFirst(const plan::Body &body, const std::string &var, bool &decided) {
    bool reads = false;
    walk(body, [&](const plan::Stmt &stmt) {
      if (decided)
        return;
      const bool isOperand = std::count(stmt.operands.begin(), stmt.operands.end(), var) != 0;
      if (!isOperand && stmt.dest != var)
        return;
      decided = true;
      reads = isOperand || (stmt.kind == Kind::Product && stmt.accumulate);
    });
    return reads;
  }

  static bool isCarried(const plan::Stmt &loop, const std::string &var) {
    for (const plan::Body *part : {&loop.body, &loop.epilogue}) {
      bool decided = false;
      if (readsFirst(*part, var, decided))
        return true;
    }
    return false;
  }

  void loop(plan::Stmt &stmt) {
    std::map<std::string, int> inside;
    std::set<std::string> multiplied;
    for (const plan::Body *part : {&stmt.prologue, &stmt.body, &stmt.epilogue}) {
      countIn(*part, inside);
      walk(*part, [&](const plan::Stmt &inner) {
        if (isAsynchronous(inner))
          multiplied.insert(inner.dest);
      });
    }
    if (startsFromZero(stmt, multiplied))
      return loopFromZero(stmt);
    std::set<std::string> inTensor, kept;
    for (const auto &[var, number] : inside) {
      if (!homed.count(var))
        continue;
      if (!isCarried(stmt, var) && number == accesses[var]) {
        holds.erase(var);
        continue;
      }
      const bool stays = multiplied.count(var) != 0 && !inRegisters.count(var);
      (stays ? inTensor : kept).insert(var);
      if (multiplied.count(var) != 0)
        result.carried.insert(var);
    }
    agree(inTensor, kept, stmt.loc);
    for (plan::Body *part : {&stmt.prologue, &stmt.body, &stmt.epilogue}) {
      if (part->empty())
        continue;
      forgetZeros(inside);
      rewrite(*part);
      plan::Body *saved = out;
      out = part;
      agree(inTensor, kept, stmt.loc);
      out = saved;
    }
    forgetZeros(inside);
    out->push_back(std::move(stmt));
  }

  void forgetZeros(const std::map<std::string, int> &written) {
    for (const auto &[var, number] : written)
      zeros.erase(var);
  }

  /// What a loop carries is in the same place whenever an iteration begins or ends.
  void agree(const std::set<std::string> &inTensor, const std::set<std::string> &kept, SourceLoc loc) {
    for (const std::string &var : inTensor) {
      inTensorToo(var, loc);
      if (holds.count(var))
        holds[var] = Holds::Tensor;
    }
    for (const std::string &var : kept) {
      inRegistersToo(var, loc);
      if (holds.count(var))
        holds[var] = Holds::Registers;
    }
  }

  /// A loop of products alone into accumulators that are zero before it.
  bool startsFromZero(const plan::Stmt &loop, const std::set<std::string> &multiplied) const {
    if (!loop.prologue.empty() || !loop.epilogue.empty() || multiplied.empty())
      return false;
    const bool onlyProducts = std::all_of(loop.body.begin(), loop.body.end(), [&](const plan::Stmt &stmt) {
      return (isAsynchronous(stmt) && stmt.aShared && stmt.accumulate) ||
             ((stmt.kind == Kind::Compute || stmt.kind == Kind::Move || stmt.kind == Kind::Load) &&
              isScalar(role, stmt.dest));
    });
    const auto products = std::count_if(loop.body.begin(), loop.body.end(), isAsynchronous);
    return onlyProducts && products == static_cast<int64_t>(multiplied.size()) &&
           std::all_of(multiplied.begin(), multiplied.end(), [&](const std::string &var) {
             const auto found = holds.find(var);
             return zeros.count(var) != 0 && found != holds.end() &&
                    (found->second == Holds::Registers || found->second == Holds::Zero);
           });
  }

  /// The first iteration overwrites; a loop without iterations leaves the zeros that are in registers.
  void loopFromZero(plan::Stmt &loop) {
    std::set<std::string> made;
    for (plan::Stmt &stmt : loop.body)
      if (isAsynchronous(stmt)) {
        made.insert(stmt.dest);
        stmt.destRef = bufferOf(stmt.dest);
        stmt.dest.clear();
        stmt.one = true;
      }
    loop.prologue = loop.body;
    for (plan::Stmt &stmt : loop.prologue)
      if (isAsynchronous(stmt))
        stmt.accumulate = false;
    const std::vector<std::string> bounds = loop.operands;
    const SourceLoc loc = loop.loc;
    out->push_back(std::move(loop));
    for (const std::string &var : made)
      materialize(var);
    const std::string ran = freshScalar("ran");
    plan::Stmt &compare = emit(Kind::Compute, loc);
    compare.op = ir::OpKind::Lt;
    compare.dest = ran;
    compare.operands = bounds;
    plan::Stmt &branch = emit(Kind::If, loc);
    branch.operands = {ran};
    plan::Body *saved = out;
    plan::Body loads;
    out = &loads;
    for (const std::string &var : made) {
      load(var, loc);
      zeros.erase(var);
      result.rings.insert(tensorBufferOf(placement, var));
    }
    out = saved;
    branch.body = std::move(loads);
  }

  std::string freshScalar(const std::string &hint) {
    std::string name = hint;
    for (int n = 2; role.findVar(name); ++n)
      name = hint + "_" + std::to_string(n);
    plan::VarType type;
    type.elem = ElemType::Bool;
    type.layout = {};
    role.vars.push_back({name, type});
    return name;
  }

  void branch(plan::Stmt &stmt) {
    for (const std::string &operand : stmt.operands)
      inRegistersToo(operand, stmt.loc);
    if (!stmt.map.empty()) // the ways of one store, each of which reads the same
      for (const plan::Body *body : {&stmt.body, &stmt.orElse})
        walk(*body, [&](const plan::Stmt &inner) {
          for (const std::string &operand : inner.operands)
            inRegistersToo(operand, stmt.loc);
        });
    std::map<std::string, int> touched;
    countIn(stmt.body, touched);
    countIn(stmt.orElse, touched);
    for (const auto &[var, number] : touched)
      materialize(var);
    const auto before = holds;
    const auto zerosBefore = zeros;
    rewrite(stmt.body);
    auto after = std::exchange(holds, before);
    zeros = zerosBefore;
    rewrite(stmt.orElse);
    join(stmt, after);
    forgetZeros(touched);
    out->push_back(std::move(stmt));
  }

  /// Where the ways of a branch leave a variable in different places, both leave it in registers.
  void join(plan::Stmt &stmt, std::map<std::string, Holds> &other) {
    plan::Body *saved = out;
    for (auto &[var, place] : other) {
      const auto here = holds.find(var);
      if (here == holds.end() || here->second == place)
        continue;
      if (place == Holds::Tensor) {
        out = &stmt.body;
        load(var, stmt.loc);
      }
      if (here->second == Holds::Tensor) {
        out = &stmt.orElse;
        load(var, stmt.loc);
      }
      here->second = Holds::Registers;
    }
    for (const auto &[var, place] : other)
      holds.emplace(var, place);
    out = saved;
  }

  plan::Role &role;
  const Placement &placement;
  const std::set<std::string> &inRegisters;
  TensorHomes result;
  std::set<std::string> homed; ///< variables that products write
  std::map<std::string, int> accesses;
  std::map<std::string, Holds> holds;
  std::set<std::string> zeros;               ///< scalars and tiles that are zero here
  std::map<std::string, plan::Stmt> zeroing; ///< how they are made
  plan::Body *out = nullptr;
};

} // namespace

std::string tensorBufferOf(const Placement &placement, const std::string &var) {
  return placement.uniqueBuffer(var + "_tensor");
}

TensorHomes placeTensors(plan::Role &role, const Placement &placement, const std::set<std::string> &inRegisters) {
  return Homes(role, placement, inRegisters).run();
}

bool isScalar(const plan::Role &role, const std::string &name) {
  const plan::Var *var = role.findVar(name);
  return var && (var->type.kind == plan::VarType::Scalar || var->type.kind == plan::VarType::TileIndex);
}

bool hasTensorProduct(const plan::Stmt &stmt) {
  return plan::any(stmt, [](const plan::Stmt &inner) { return inner.isTensorProduct(); });
}

bool isForMatrixRole(const plan::Role &role, const plan::Stmt &stmt) {
  const auto isControl = [](const plan::Stmt &each) { return each.kind == Kind::For || each.kind == Kind::If; };
  const auto isForOthers = [&](const plan::Stmt &inner) {
    const bool isScalarWork = (inner.kind == Kind::Compute || inner.kind == Kind::Move || inner.kind == Kind::Load) &&
                              isScalar(role, inner.dest);
    return !inner.isTensorProduct() && !isScalarWork && !isControl(inner);
  };
  return isControl(stmt) && hasTensorProduct(stmt) && !plan::any(stmt, isForOthers);
}

} // namespace tkc::planner
