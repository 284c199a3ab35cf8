// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of tile IR that are not in its data structure. Each has one message, and one test in test/ir/verify/ that
// breaks it. Result types are worked out again (VerifierTypes.cpp) and compared.
#include "ir/Verifier.h"

#include <algorithm>
#include <fmt/core.h>
#include <unordered_set>

namespace tkc::ir {
namespace {

struct OperandCount {
  size_t least, most;
};
constexpr size_t any = SIZE_MAX;

OperandCount operandCount(OpKind kind) {
  switch (kind) {
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
  case OpKind::Cast:
  case OpKind::Full:
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Elements:
  case OpKind::ToScalar:
  case OpKind::AsCol:
  case OpKind::AsRow:
  case OpKind::Reduce:
  case OpKind::Cumsum:
  case OpKind::Transpose:
  case OpKind::If:
    return {1, 1};
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
  case OpKind::Shift:
  case OpKind::Parallel:
    return {2, 2};
  case OpKind::Const:
  case OpKind::Dim:
  case OpKind::Param:
  case OpKind::Iota:
    return {0, 0};
  case OpKind::Select:
  case OpKind::Philox:
    return {3, 3};
  case OpKind::Dot:
    return {2, 3};
  case OpKind::DotScaled:
    return {4, 5};
  case OpKind::Load:
  case OpKind::ExternCall:
  case OpKind::Yield:
    return {0, any};
  case OpKind::Store:
  case OpKind::Atomic:
    return {1, any};
  case OpKind::For:
    return {2, any};
  }
  return {0, any};
}

bool hasKnownDims(const Param &param) {
  return param.isTensor && std::all_of(param.dims.begin(), param.dims.end(),
                                       [](const DimExpr &dim) { return dim.isConst() && dim.value > 0; });
}

class Verifier {
public:
  explicit Verifier(const Function &function) : function(function) {}

  std::vector<VerifyError> run() {
    std::unordered_set<std::string_view> names;
    for (const Param &param : function.params) {
      if (!names.insert(param.name).second)
        errors.push_back({param.loc, fmt::format("two parameters are called `{}`", param.name)});
      if (param.isLocal && !hasKnownDims(param))
        errors.push_back({param.loc, fmt::format("the dims of `{}`, which each block has, are not known", param.name)});
    }
    verifyBody(function.body);
    return std::move(errors);
  }

private:
  const Function &function;
  std::vector<VerifyError> errors;
  std::unordered_set<const Value *> visible;

  template <class... Args> void error(const Op &op, fmt::format_string<Args...> format, Args &&...args) {
    errors.push_back({op.loc, fmt::format(format, std::forward<Args>(args)...)});
  }

  void verifyBody(const Block &block) {
    std::vector<const Value *> defined;
    auto define = [&](const Value *value) {
      visible.insert(value);
      defined.push_back(value);
    };
    for (auto &arg : block.args)
      define(arg.get());
    for (auto &op : block.ops) {
      verifyOp(*op);
      for (auto &result : op->results)
        define(result.get());
    }
    for (const Value *value : defined)
      visible.erase(value);
  }

  void verifyOp(const Op &op) {
    size_t before = errors.size();
    verifyUses(op);
    if (errors.size() == before)
      verifyShape(op);
    for (auto &body : op.bodies)
      verifyBody(*body);
  }

  /// What the other rules rely on: as many operands as the op takes, and all of them visible.
  void verifyUses(const Op &op) {
    auto [least, most] = operandCount(op.kind);
    if (op.operands().size() < least || op.operands().size() > most)
      return error(op, "`{}` takes {} operands, not {}", spelling(op.kind), least, op.operands().size());
    for (const Value *operand : op.operands())
      if (!visible.count(operand))
        return error(op, "`{}` uses a value outside of the body that defines it", spelling(op.kind));
    if (op.kind == OpKind::For)
      for (auto &arg : op.body().args)
        if (const Value *own = op.body().args[0].get(); arg->type.rowEnd == own || arg->type.colEnd == own)
          return error(op, "`for` carries {}, which ends with its own index", print(arg->type));
    for (auto &result : op.results)
      verifyEdges(op, result->type);
    for (auto &body : op.bodies)
      for (size_t i = 1; i < body->args.size(); ++i)
        verifyEdges(op, body->args[i]->type);
  }

  void verifyEdges(const Op &op, const Type &type) {
    for (auto [end, size] : {std::pair(type.rowEnd, type.rows), std::pair(type.colEnd, type.cols)}) {
      if (!end)
        continue;
      if (!visible.count(end))
        return error(op, "`{}` gives a tile that ends with an index of another body", spelling(op.kind));
      if (end->type.kind != Type::TileIndex || end->type.rows % size != 0 || end->definingOp)
        return error(op, "`{}` gives a tile that does not fit the index it ends with: {}", spelling(op.kind),
                     print(type));
    }
  }

  void verifyShape(const Op &op) {
    switch (op.kind) {
    case OpKind::Parallel:
      return verifyParallel(op);
    case OpKind::For:
      return verifyFor(op);
    case OpKind::If:
      return verifyIf(op);
    case OpKind::Yield:
      return verifyYield(op);
    case OpKind::Store:
    case OpKind::Atomic:
      return verifyWrite(op);
    case OpKind::Load:
      if (std::string problem = viewProblem(function, op); !problem.empty())
        return error(op, "{}", problem);
      [[fallthrough]];
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#include "ir/Ops.def"
    case OpKind::Const:
    case OpKind::Dim:
    case OpKind::Param:
    case OpKind::Cast:
    case OpKind::Select:
    case OpKind::Full:
    case OpKind::Iota:
    case OpKind::Begin:
    case OpKind::End:
    case OpKind::Index:
    case OpKind::Elements:
    case OpKind::Shift:
    case OpKind::ToScalar:
    case OpKind::AsCol:
    case OpKind::AsRow:
    case OpKind::Reduce:
    case OpKind::Cumsum:
    case OpKind::Transpose:
    case OpKind::Dot:
    case OpKind::DotScaled:
    case OpKind::Philox:
    case OpKind::ExternCall:
      return verifyResult(op);
    }
  }

  void verifyResult(const Op &op) {
    ExpectedType expected = expectedType(function, op);
    if (!expected.problem.empty())
      return error(op, "{}", expected.problem);
    const Type &actual = op.result()->type;
    if (actual != expected.type)
      error(op, "`{}` gives {}, not {}", spelling(op.kind), print(expected.type), print(actual));
  }

  void verifyWrite(const Op &op) {
    if (std::string problem = viewProblem(function, op); !problem.empty())
      return error(op, "{}", problem);
    const Param &param = *function.findParam(op.view.tensor);
    if (param.mode == ParamMode::In)
      return error(op, "`{}` writes `{}`, which is neither out nor inout", spelling(op.kind), param.name);
    std::vector<Value *> indices(op.operands().begin(), op.operands().end() - 1);
    Type slice = *viewType(param.elem, op.view, indices);
    const Type &value = op.operands().back()->type;
    if (!canStore(value, slice))
      error(op, "`{}` of {} does not fit the slice's {}", spelling(op.kind), print(value), print(slice));
  }

  // ---- control flow

  void verifyRange(const Op &op) {
    for (size_t i = 0; i < 2; ++i)
      if (op.operand(i)->type != Type::scalar(ElemType::I32))
        return error(op, "a bound of `{}` is an i32, not {}", spelling(op.kind), print(op.operand(i)->type));
  }

  void verifyParallel(const Op &op) {
    verifyRange(op);
    const Op *outer = op.parent->parent;
    if (outer && outer->kind != OpKind::Parallel)
      error(op, "`parallel` stands inside `{}`", spelling(outer->kind));
    if (op.body().terminator())
      error(op, "the body of `parallel` yields");
  }

  void verifyFor(const Op &op) {
    verifyRange(op);
    const Block &body = op.body();
    for (size_t i = 1; i < body.args.size(); ++i) {
      const Type &type = body.args[i]->type;
      if (type.kind == Type::TileIndex)
        error(op, "`for` carries a tile index");
      if (op.result(i - 1)->type != type)
        error(op, "`for` carries {} and gives {}", print(type), print(op.result(i - 1)->type));
      if (!canEnter(op.operand(i + 1)->type, type))
        error(op, "`for` carries {} and starts with {}", print(type), print(op.operand(i + 1)->type));
    }
    const Op *yield = body.terminator();
    size_t yielded = yield ? yield->operands().size() : 0;
    if (yielded != body.args.size() - 1)
      return error(op, "`for` carries {} values and yields {}", body.args.size() - 1, yielded);
    for (size_t i = 0; i < yielded; ++i)
      if (!canEnter(yield->operand(i)->type, body.args[i + 1]->type))
        error(*yield, "`for` carries {} and yields {}", print(body.args[i + 1]->type), print(yield->operand(i)->type));
  }

  void verifyIf(const Op &op) {
    if (op.operand(0)->type != Type::scalar(ElemType::Bool))
      error(op, "the condition of `if` is a bool, not {}", print(op.operand(0)->type));
    for (auto &body : op.bodies) {
      const Op *yield = body->terminator();
      size_t yielded = yield ? yield->operands().size() : 0;
      if (yielded != op.results.size())
        return error(op, "`if` has {} results and yields {}", op.results.size(), yielded);
      for (size_t i = 0; i < yielded; ++i)
        if (!canEnter(yield->operand(i)->type, op.result(i)->type))
          error(*yield, "`if` gives {} and yields {}", print(op.result(i)->type), print(yield->operand(i)->type));
    }
  }

  void verifyYield(const Op &op) {
    if (&op != op.parent->ops.back().get())
      error(op, "`yield` stands before the end of its body");
  }
};

} // namespace

std::vector<VerifyError> verify(const Function &function) { return Verifier(function).run(); }

} // namespace tkc::ir
