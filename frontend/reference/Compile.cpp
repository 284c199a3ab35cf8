// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From syntax to a Model. Whether an intermediate is an integer, and of 64 bits, follows from its equation, which may
// ask for itself: all are taken for integers of 32 bits at first, and compiled again as long as one turns out not to
// be.
#include "frontend/reference/Model.h"

#include "support/Diagnostics.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Casting.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace tkc::reference {
namespace {

/// What a name means inside an expression, innermost first. A function's parameter stands for the argument's syntax.
struct Scope {
  const Scope *outer = nullptr;
  std::string name;
  int variable = -1;
  const ast::Expr *expr = nullptr;
  const Scope *exprScope = nullptr;
};

const Scope *lookUp(const Scope *scope, const std::string &name) {
  while (scope && scope->name != name)
    scope = scope->outer;
  return scope;
}

std::optional<NodeKind> floatFunction(const std::string &name) {
  return llvm::StringSwitch<std::optional<NodeKind>>(name)
      .Case("exp", NodeKind::Exp)
      .Case("exp2", NodeKind::Exp2)
      .Case("log", NodeKind::Log)
      .Case("log2", NodeKind::Log2)
      .Case("sqrt", NodeKind::Sqrt)
      .Case("rsqrt", NodeKind::Rsqrt)
      .Case("rcp", NodeKind::Rcp)
      .Case("tanh", NodeKind::Tanh)
      .Case("sin", NodeKind::Sin)
      .Case("cos", NodeKind::Cos)
      .Case("erf", NodeKind::Erf)
      .Case("sigmoid", NodeKind::Sigmoid)
      .Case("floor", NodeKind::Floor)
      .Default(std::nullopt);
}

NodeKind nodeKindOf(ast::BinaryOp op) {
  using ast::BinaryOp;
  switch (op) {
  case BinaryOp::Mul:
  case BinaryOp::MatMul:
    return NodeKind::Mul;
  case BinaryOp::Div:
    return NodeKind::Div;
  case BinaryOp::Mod:
    return NodeKind::Mod;
  case BinaryOp::Add:
    return NodeKind::Add;
  case BinaryOp::Sub:
    return NodeKind::Sub;
  case BinaryOp::Shl:
    return NodeKind::Shl;
  case BinaryOp::Shr:
    return NodeKind::Shr;
  case BinaryOp::BitAnd:
    return NodeKind::BitAnd;
  case BinaryOp::BitXor:
    return NodeKind::BitXor;
  case BinaryOp::BitOr:
    return NodeKind::BitOr;
  case BinaryOp::Eq:
    return NodeKind::Eq;
  case BinaryOp::Ne:
    return NodeKind::Ne;
  case BinaryOp::Lt:
    return NodeKind::Lt;
  case BinaryOp::Le:
    return NodeKind::Le;
  case BinaryOp::Gt:
    return NodeKind::Gt;
  case BinaryOp::Ge:
    return NodeKind::Ge;
  case BinaryOp::And:
  case BinaryOp::Or:
    return NodeKind::If;
  }
  return NodeKind::Constant;
}

/// Whether an operation is one in 64 bits: one of its operands is. Conditions and bounds are none of them.
bool isWide(const Node &node) {
  const auto isWideAt = [&](size_t i) { return i < node.children.size() && node.children[i]->isWide; };
  if (node.kind == NodeKind::If)
    return isWideAt(1) || isWideAt(2);
  return (node.kind == NodeKind::Reduce || (node.kind >= NodeKind::Neg && node.kind <= NodeKind::Shr)) &&
         (isWideAt(0) || (node.kind != NodeKind::Reduce && isWideAt(1)));
}

/// The least number is its own.
int64_t negated(int64_t value) { return static_cast<int64_t>(-static_cast<uint64_t>(value)); }

class EquationCompiler {
public:
  EquationCompiler(const ReferenceInput &input, Model &model, const std::map<std::string, int> &tensorOf,
                   CompiledEquation &equation, DiagnosticEngine &diagnostics)
      : input(input), model(model), tensorOf(tensorOf), equation(equation), diagnostics(diagnostics) {}

  void run() {
    const Scope *scope = nullptr;
    for (const ast::IndexBinder &index : equation.source->indices) {
      Node *lo = index.lo ? boundOf(index.lo, scope) : nullptr;
      Node *hi = index.hi ? boundOf(index.hi, scope) : nullptr;
      equation.lo.push_back(lo);
      equation.hi.push_back(hi);
      scope = bind(index.name, lo != nullptr, scope);
    }
    equation.numIndices = equation.variables.size();
    equation.value = expr(equation.source->value, scope);
  }

private:
  // ---- making nodes ------------------------------------------------------------------------------------------------

  Node *make(NodeKind kind, SourceRange range, bool isInteger, std::vector<Node *> children = {}) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->range = range;
    node->isInteger = isInteger;
    node->children = std::move(children);
    for (const Node *child : node->children)
      node->variables |= child->variables;
    node->isWide = isWide(*node);
    node->id = static_cast<unsigned>(equation.nodes.size());
    equation.nodes.push_back(std::move(node));
    return equation.nodes.back().get();
  }
  Node *integer(SourceRange range, int64_t value) {
    Node *node = make(NodeKind::Constant, range, true);
    node->integer = value;
    node->constant = static_cast<double>(value);
    node->isExactOperand = true;
    return node;
  }
  Node *truthValue(Node *node) {
    node->isTruth = true;
    return node;
  }
  Node *number(SourceRange range, double value) {
    Node *node = make(NodeKind::Constant, range, false);
    node->constant = value;
    node->isExactOperand = true;
    return node;
  }
  Node *toFloat(Node *node) {
    if (!node->isInteger)
      return node;
    if (node->kind == NodeKind::Constant)
      return number(node->range, node->constant);
    Node *result = make(NodeKind::ToFloat, node->range, false, {node});
    result->isExactOperand = true;
    return result;
  }
  static bool isConstant(const Node *node) { return node->kind == NodeKind::Constant; }

  Node *failed(Diag id, SourceRange range, const std::string &what) {
    diagnostics.report(id, range, what);
    return integer(range, 0);
  }

  const Scope *bind(const ast::Identifier &name, bool isWritten, const Scope *outer) {
    if (equation.variables.size() == 64) {
      diagnostics.report(Diag::reference_too_many_indices, name.range, equation.source->name.text);
      return outer;
    }
    const int variable = static_cast<int>(equation.variables.size());
    equation.variables.push_back({name.text, name.range, isWritten, false, 0, 0});
    return keep({outer, name.text, variable, nullptr, nullptr});
  }
  const Scope *keep(Scope scope) {
    scopes.push_back(std::make_unique<Scope>(std::move(scope)));
    return scopes.back().get();
  }

  // ---- expressions -------------------------------------------------------------------------------------------------

  Node *integerOf(const ast::Expr *e, const Scope *scope) {
    Node *node = expr(e, scope);
    return node->isInteger ? node : failed(Diag::reference_not_an_integer, e->range, "");
  }

  /// Ranges are needed before any equation is computed: what is called by a number's name stands here itself.
  Node *boundOf(const ast::Expr *e, const Scope *scope) {
    inBound = true;
    Node *bound = integerOf(e, scope);
    inBound = false;
    for (const auto &node : equation.nodes)
      if (node->kind == NodeKind::Access && model.tensors[node->tensor]->equation >= 0)
        return failed(Diag::reference_computed_range, node->range, model.tensors[node->tensor]->name);
    return bound;
  }

  Node *expr(const ast::Expr *e, const Scope *scope) {
    using ast::ExprKind;
    switch (e->kind) {
    case ExprKind::Number: {
      const auto *literal = llvm::cast<ast::NumberExpr>(e);
      return literal->isFloat ? number(e->range, literal->value) : integer(e->range, literal->integer);
    }
    case ExprKind::Bool:
      return truthValue(integer(e->range, llvm::cast<ast::BoolExpr>(e)->value));
    case ExprKind::Name:
      return name(llvm::cast<ast::NameExpr>(e)->name, e->range, scope);
    case ExprKind::Unary:
      return unary(llvm::cast<ast::UnaryExpr>(e), scope);
    case ExprKind::Binary:
      return binary(llvm::cast<ast::BinaryExpr>(e), scope);
    case ExprKind::Call:
      return call(llvm::cast<ast::CallExpr>(e), scope);
    case ExprKind::Index:
      return index(llvm::cast<ast::IndexExpr>(e), scope);
    case ExprKind::If: {
      const auto *choice = llvm::cast<ast::IfExpr>(e);
      return choose(e->range, choice->condition, choice->thenValue, choice->elseValue, scope);
    }
    case ExprKind::Reduction:
      return reduction(llvm::cast<ast::ReductionExpr>(e), scope);
    case ExprKind::Error:
      return integer(e->range, 0); // reported by the parser
    case ExprKind::String:
    case ExprKind::None:
    case ExprKind::Member:
    case ExprKind::Else:
    case ExprKind::New:
    case ExprKind::List:
    case ExprKind::Range:
      return failed(Diag::reference_unsupported, e->range, "");
    }
    return integer(e->range, 0);
  }

  Node *name(const std::string &text, SourceRange range, const Scope *scope) {
    if (const Scope *found = lookUp(scope, text)) {
      if (found->expr)
        return isTooLarge() ? failed(Diag::reference_too_long, range, equation.source->name.text)
                            : expr(found->expr, found->exprScope);
      Node *node = make(NodeKind::Variable, range, true);
      node->variable = found->variable;
      node->variables = uint64_t{1} << found->variable;
      return node;
    }
    if (auto tensor = tensorOf.find(text); tensor != tensorOf.end())
      return inBound && isNumber(tensor->second) ? numberItself(tensor->second, range)
                                                 : access(tensor->second, range, {});
    if (auto scalar = input.arguments.scalars.find(text); scalar != input.arguments.scalars.end()) {
      auto type = input.scalarTypes.find(text);
      const bool isInt = type != input.scalarTypes.end() && !isFloat(type->second);
      if (isInt && type->second == ElemType::Bool)
        return truthValue(integer(range, scalar->second.toInteger()));
      if (!isInt)
        return number(range, scalar->second.toDouble());
      Node *node = integer(range, scalar->second.toInteger());
      node->isWide = type->second == ElemType::I64;
      return node;
    }
    if (auto constant = input.constants.find(text); constant != input.constants.end())
      return integer(range, constant->second);
    if (auto symbol = input.arguments.symbols.find(text); symbol != input.arguments.symbols.end())
      return integer(range, symbol->second);
    if (text == "inf")
      return number(range, INFINITY);
    if (text == "PI")
      return number(range, std::numbers::pi);
    if (text == "LOG2E")
      return number(range, std::numbers::log2e);
    if (text == "LN2")
      return number(range, std::numbers::ln2);
    return failed(Diag::reference_unknown_name, range, text);
  }

  Node *unary(const ast::UnaryExpr *e, const Scope *scope) {
    Node *operand = expr(e->operand, scope);
    switch (e->op) {
    case ast::UnaryOp::Neg:
      if (isConstant(operand) && !operand->isInteger)
        return number(e->range, -operand->constant);
      if (isConstant(operand)) {
        Node *negative = integer(e->range, negated(operand->integer));
        negative->isWide = operand->isWide;
        return negative;
      }
      return make(NodeKind::Neg, e->range, operand->isInteger, {operand});
    case ast::UnaryOp::BitNot:
      if (!operand->isInteger)
        return failed(Diag::reference_not_an_integer, operand->range, "");
      if (!operand->isTruth)
        return make(NodeKind::BitNot, e->range, true, {operand});
      [[fallthrough]];
    case ast::UnaryOp::Not:
      return truthValue(make(NodeKind::Not, e->range, true, {truth(operand)}));
    }
    return operand;
  }

  /// `x != none`: decided by what the call leaves out.
  Node *presence(const ast::BinaryExpr *e) {
    const ast::Expr *tensor = e->rhs->kind == ast::ExprKind::None ? e->lhs : e->rhs;
    const auto *named = llvm::dyn_cast<ast::NameExpr>(tensor);
    if (!named)
      return failed(Diag::reference_unsupported, e->range, "");
    const bool isAbsent = std::count(input.absent.begin(), input.absent.end(), named->name) != 0;
    return integer(e->range, (e->op == ast::BinaryOp::Eq) == isAbsent);
  }

  Node *truth(Node *node) {
    return node->isInteger ? node : make(NodeKind::Ne, node->range, true, {node, number(node->range, 0)});
  }

  Node *binary(const ast::BinaryExpr *e, const Scope *scope) {
    if (e->lhs->kind == ast::ExprKind::None || e->rhs->kind == ast::ExprKind::None)
      return presence(e);
    Node *lhs = expr(e->lhs, scope);
    if (e->op == ast::BinaryOp::And || e->op == ast::BinaryOp::Or) {
      const bool isAnd = e->op == ast::BinaryOp::And;
      lhs = truth(lhs);
      if (isConstant(lhs) && (lhs->integer != 0) != isAnd)
        return truthValue(integer(e->range, !isAnd));
      Node *rhs = truth(expr(e->rhs, scope));
      if (isConstant(lhs))
        return rhs;
      Node *decided = integer(e->range, !isAnd);
      return truthValue(make(NodeKind::If, e->range, true, {lhs, isAnd ? rhs : decided, isAnd ? decided : rhs}));
    }
    Node *rhs = expr(e->rhs, scope);
    return arithmetic(nodeKindOf(e->op), e->range, lhs, rhs);
  }

  Node *arithmetic(NodeKind kind, SourceRange range, Node *lhs, Node *rhs) {
    const bool bothInteger = lhs->isInteger && rhs->isInteger;
    const bool isComparison = kind >= NodeKind::Eq && kind <= NodeKind::Ge;
    const bool integersOnly = kind >= NodeKind::Mod && kind <= NodeKind::Shr;
    if (integersOnly && !bothInteger)
      return failed(Diag::reference_not_an_integer, (lhs->isInteger ? rhs : lhs)->range, "");
    if (!bothInteger)
      lhs = toFloat(lhs), rhs = toFloat(rhs);
    Node *node = make(kind, range, bothInteger || isComparison, {lhs, rhs});
    const bool ofBits = kind == NodeKind::BitAnd || kind == NodeKind::BitXor || kind == NodeKind::BitOr;
    node->isTruth = isComparison || (ofBits && lhs->isTruth && rhs->isTruth);
    return node;
  }

  Node *choose(SourceRange range, const ast::Expr *condition, const ast::Expr *then, const ast::Expr *otherwise,
               const Scope *scope) {
    Node *decision = truth(expr(condition, scope));
    if (isConstant(decision))
      return expr(decision->integer ? then : otherwise, scope);
    Node *x = expr(then, scope);
    Node *y = expr(otherwise, scope);
    const bool isInt = x->isInteger && y->isInteger;
    if (!isInt)
      x = toFloat(x), y = toFloat(y);
    Node *node = make(NodeKind::If, range, isInt, {decision, x, y});
    node->isTruth = x->isTruth && y->isTruth;
    return node;
  }

  Node *call(const ast::CallExpr *e, const Scope *scope) {
    const auto *callee = llvm::dyn_cast<ast::NameExpr>(e->callee);
    if (!callee)
      return failed(Diag::reference_unsupported, e->range, "");
    const std::string &function = callee->name;
    std::vector<const ast::Expr *> args;
    for (const ast::Argument &arg : e->args)
      args.push_back(arg.value);
    const auto wants = [&](size_t count) {
      if (args.size() == count)
        return true;
      diagnostics.report(Diag::reference_argument_count, e->range, function, count, args.size());
      return false;
    };
    if (auto kind = floatFunction(function))
      return wants(1) ? make(*kind, e->range, false, {toFloat(expr(args[0], scope))}) : integer(e->range, 0);
    if (function == "abs") {
      if (!wants(1))
        return integer(e->range, 0);
      Node *x = expr(args[0], scope);
      return make(NodeKind::Abs, e->range, x->isInteger, {x});
    }
    if (function == "where")
      return wants(3) ? choose(e->range, args[0], args[1], args[2], scope) : integer(e->range, 0);
    if ((function == "max" || function == "min") && !args.empty())
      return extremum(function, e->range, args, scope);
    if (function == "philox") {
      if (!wants(3))
        return integer(e->range, 0);
      return make(NodeKind::Philox, e->range, false,
                  {integerOf(args[0], scope), integerOf(args[1], scope), integerOf(args[2], scope)});
    }
    auto typeArg = input.typeArgs.find(function);
    const std::optional<ElemType> elem =
        typeArg != input.typeArgs.end() ? std::optional(typeArg->second) : parseElemType(function);
    if (elem)
      return wants(1) ? cast(*elem, e->range, expr(args[0], scope)) : integer(e->range, 0);
    if (input.functions)
      if (auto found = input.functions->find(function); found != input.functions->end())
        return inlined(*found->second, e->range, args, scope);
    return failed(Diag::reference_unknown_name, callee->range, function);
  }

  Node *extremum(const std::string &function, SourceRange range, const std::vector<const ast::Expr *> &args,
                 const Scope *scope) {
    Node *result = expr(args[0], scope);
    for (size_t i = 1; i < args.size(); ++i)
      result = arithmetic(function == "max" ? NodeKind::Max : NodeKind::Min, range, result, expr(args[i], scope));
    return result;
  }

  Node *cast(ElemType elem, SourceRange range, Node *x) {
    if (elem == ElemType::F64)
      return toFloat(x);
    const bool toInteger = !isFloat(elem);
    if (!toInteger)
      x = toFloat(x);
    Node *node = make(NodeKind::Cast, range, toInteger, {x});
    node->elem = elem;
    node->isTruth = elem == ElemType::Bool;
    node->isWide = elem == ElemType::I64;
    return node;
  }

  /// Functions that call others twice grow fast.
  bool isTooLarge() const { return equation.nodes.size() > 100000; }

  /// `fn f(x) = …;` and functions of lets and one result: their names stand for the syntax they are bound to.
  Node *inlined(const ast::FnDecl &fn, SourceRange range, const std::vector<const ast::Expr *> &args,
                const Scope *scope) {
    if (args.size() != fn.params.size() || inlineDepth == 64)
      return failed(Diag::reference_unsupported, range, "");
    if (isTooLarge())
      return failed(Diag::reference_too_long, range, equation.source->name.text);
    const Scope *inner = nullptr;
    for (size_t i = 0; i < args.size(); ++i)
      inner = keep({inner, fn.params[i].text, -1, args[i], scope});
    ++inlineDepth;
    Node *result = nullptr;
    for (const ast::Stmt *stmt : fn.body->stmts) {
      if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt); let && let->names.size() == 1)
        inner = keep({inner, let->names[0].text, -1, let->value, inner});
      else if (const auto *ret = llvm::dyn_cast<ast::ReturnStmt>(stmt); ret && ret->values.size() == 1)
        result = expr(ret->values[0], inner);
    }
    --inlineDepth;
    return result ? result : failed(Diag::reference_unsupported, range, "");
  }

  bool isNumber(int tensor) const {
    const TensorSlot &slot = *model.tensors[tensor];
    return slot.equation >= 0 && slot.dims.empty() && !slot.isOutput;
  }

  /// The expression that the name of an intermediate without indices stands for.
  Node *numberItself(int tensor, SourceRange range) {
    const TensorSlot &slot = *model.tensors[tensor];
    if (inlineDepth == 64)
      return failed(Diag::reference_cycle, range, slot.name);
    if (isTooLarge())
      return failed(Diag::reference_too_long, range, equation.source->name.text);
    ++inlineDepth;
    Node *value = expr(model.equations[slot.equation].source->value, nullptr);
    --inlineDepth;
    return value;
  }

  Node *index(const ast::IndexExpr *e, const Scope *scope) {
    const auto *base = llvm::dyn_cast<ast::NameExpr>(e->base);
    if (!base)
      return failed(Diag::reference_unsupported, e->range, "");
    auto found = tensorOf.find(base->name);
    if (found == tensorOf.end())
      return failed(Diag::reference_unknown_name, base->range, base->name);
    std::vector<Node *> indices;
    for (const ast::Subscript &subscript : e->subscripts) {
      if (subscript.kind != ast::Subscript::Element)
        return failed(Diag::reference_unsupported, subscript.range, "");
      indices.push_back(integerOf(subscript.first, scope));
    }
    return access(found->second, e->range, std::move(indices));
  }

  Node *access(int tensor, SourceRange range, std::vector<Node *> indices) {
    const TensorSlot &slot = *model.tensors[tensor];
    if (slot.dims.size() != indices.size()) {
      diagnostics.report(Diag::reference_wrong_rank, range, slot.name, slot.dims.size(), indices.size());
      return integer(range, 0);
    }
    Node *node = make(NodeKind::Access, range, slot.isInteger, std::move(indices));
    node->tensor = tensor;
    node->isTruth = slot.isTruth;
    node->isWide = slot.isWide;
    node->isExactOperand = slot.equation < 0;
    return node;
  }

  Node *reduction(const ast::ReductionExpr *e, const Scope *scope) {
    const std::string &op = e->op.text;
    // `max(a, b)` reads like `max(i, e)`: it is the larger of two where the name already means something.
    const ast::IndexBinder &first = e->binders.front();
    if ((op == "max" || op == "min") && !first.lo && isBound(first.name.text, scope)) {
      Node *result = nullptr;
      const NodeKind kind = op == "max" ? NodeKind::Max : NodeKind::Min;
      for (const ast::IndexBinder &binder : e->binders) {
        Node *x = name(binder.name.text, binder.name.range, scope);
        result = result ? arithmetic(kind, e->range, result, x) : x;
      }
      return arithmetic(kind, e->range, result, expr(e->body, scope));
    }
    return reduceOver(e, 0, scope);
  }

  bool isBound(const std::string &text, const Scope *scope) const {
    return lookUp(scope, text) || tensorOf.count(text) || input.arguments.scalars.count(text) ||
           input.constants.count(text) || input.arguments.symbols.count(text) || text == "inf" || text == "PI" ||
           text == "LOG2E" || text == "LN2";
  }

  Node *reduceOver(const ast::ReductionExpr *e, size_t depth, const Scope *scope) {
    if (depth == e->binders.size())
      return expr(e->body, scope);
    const ast::IndexBinder &binder = e->binders[depth];
    Node *lo = binder.lo ? integerOf(binder.lo, scope) : nullptr;
    Node *hi = binder.hi ? integerOf(binder.hi, scope) : nullptr;
    const Scope *inner = bind(binder.name, lo != nullptr, scope);
    if (inner == scope)
      return integer(e->range, 0);
    const int variable = inner->variable;
    Node *body = reduceOver(e, depth + 1, inner);
    std::vector<Node *> children{body};
    if (lo)
      children.insert(children.end(), {lo, hi});
    Node *node = make(NodeKind::Reduce, e->range, body->isInteger, std::move(children));
    node->variables &= ~(uint64_t{1} << variable);
    node->variable = variable;
    node->reduction = llvm::StringSwitch<Reduction>(e->op.text)
                          .Case("max", Reduction::Max)
                          .Case("min", Reduction::Min)
                          .Case("prod", Reduction::Prod)
                          .Default(Reduction::Sum);
    if (node->reduction == Reduction::Sum)
      markContracted(*body);
    return node;
  }

  /// The products that the sum adds up, be its terms sums themselves, or multiplied or divided after adding up.
  static void markContracted(Node &node) {
    if (node.kind == NodeKind::Mul)
      node.isContracted = true;
    if (node.kind == NodeKind::Div)
      return markContracted(*node.children[0]);
    const bool isLinear = node.kind == NodeKind::Mul || node.kind == NodeKind::Neg || node.kind == NodeKind::Add ||
                          node.kind == NodeKind::Sub || node.kind == NodeKind::If;
    for (Node *child : node.children)
      if (isLinear)
        markContracted(*child);
  }

  const ReferenceInput &input;
  Model &model;
  const std::map<std::string, int> &tensorOf;
  CompiledEquation &equation;
  DiagnosticEngine &diagnostics;
  std::vector<std::unique_ptr<Scope>> scopes;
  int inlineDepth = 0;
  bool inBound = false; ///< in the range of an index on the left side
};

/// A slot for every input and every equation. A name on the right is the input where there is one (an inout before the
/// call), else what the equations define.
std::map<std::string, int> makeTensors(const ReferenceInput &input, const std::vector<ast::Equation> &equations,
                                       Model &model) {
  std::map<std::string, int> tensorOf;
  for (const auto &[name, tensor] : input.arguments.tensors) {
    if (static_cast<int64_t>(tensor.numValues()) != tensor.numElements())
      continue; // an output
    auto slot = std::make_unique<TensorSlot>();
    slot->name = name;
    slot->isInteger = !isFloat(tensor.elem);
    slot->isTruth = tensor.elem == ElemType::Bool;
    slot->isWide = tensor.elem == ElemType::I64;
    slot->isKnown.assign(tensor.dims.size(), true);
    slot->dims = tensor.dims;
    slot->origin.assign(tensor.dims.size(), 0);
    slot->strides = rowMajorStrides(tensor.dims);
    if (tensor.isOfIntegers())
      slot->integers = tensor.integers.data();
    else
      slot->data = tensor.data.data();
    tensorOf[name] = static_cast<int>(model.tensors.size());
    model.tensors.push_back(std::move(slot));
  }
  for (size_t i = 0; i < equations.size(); ++i) {
    const ast::Equation &equation = equations[i];
    auto slot = std::make_unique<TensorSlot>();
    slot->name = equation.name.text;
    slot->isInteger = slot->isTruth = true;
    slot->equation = static_cast<int>(i);
    slot->dims.resize(equation.indices.size());
    slot->origin.resize(equation.indices.size());
    slot->isKnown.resize(equation.indices.size());
    auto argument = input.arguments.tensors.find(slot->name);
    const bool isOutput = std::count(input.outputs.begin(), input.outputs.end(), slot->name) != 0;
    if (isOutput && argument != input.arguments.tensors.end() &&
        argument->second.dims.size() == equation.indices.size()) {
      slot->dims = argument->second.dims;
      slot->isKnown.assign(slot->dims.size(), true);
      slot->isOutput = true;
    }
    tensorOf.emplace(slot->name, static_cast<int>(model.tensors.size()));
    model.equations.push_back({&equation, static_cast<int>(model.tensors.size()), {}, nullptr, {}, 0, {}, {}});
    model.tensors.push_back(std::move(slot));
  }
  return tensorOf;
}

} // namespace

bool compile(const ReferenceInput &input, const std::vector<ast::Equation> &equations, Model &model,
             DiagnosticEngine &diagnostics) {
  const size_t errorsBefore = diagnostics.numErrors();
  const std::map<std::string, int> tensorOf = makeTensors(input, equations, model);
  for (const CompiledEquation &equation : model.equations) {
    const TensorSlot &slot = *model.tensors[equation.tensor];
    auto argument = input.arguments.tensors.find(slot.name);
    const bool isOutput = std::count(input.outputs.begin(), input.outputs.end(), slot.name) != 0;
    if (isOutput && argument != input.arguments.tensors.end() && argument->second.dims.size() != slot.dims.size())
      diagnostics.report(Diag::reference_wrong_rank, equation.source->name.range, slot.name,
                         argument->second.dims.size(), slot.dims.size());
  }
  for (bool again = true; again && diagnostics.numErrors() == errorsBefore;) {
    again = false;
    for (CompiledEquation &equation : model.equations) {
      equation = {equation.source, equation.tensor, {}, nullptr, {}, 0, {}, {}};
      EquationCompiler(input, model, tensorOf, equation, diagnostics).run();
      TensorSlot &slot = *model.tensors[equation.tensor];
      again |= (slot.isInteger && !equation.value->isInteger) || (slot.isTruth && !equation.value->isTruth);
      slot.isInteger = slot.isInteger && equation.value->isInteger;
      slot.isTruth = slot.isTruth && equation.value->isTruth;
      if (!slot.isWide && equation.value->isWide)
        slot.isWide = again = true;
    }
  }
  return diagnostics.numErrors() == errorsBefore && inferRanges(model, diagnostics);
}

} // namespace tkc::reference
