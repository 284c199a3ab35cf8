// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients: what each argument of `gradient f = g(x, y, grad(y), grad(x));` is to f, and whether g takes it. `grad` of
// an output of f goes to an input of g, and `grad` of an input of f is a result of g. Dims of g are expressed in those
// of f; `when H == G` makes two of them one.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Polynomial.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tkc::sema {
namespace {

using ir::DimExpr;

template <class Choices>
const Choices *choicesOf(const std::vector<std::pair<std::string, Choices>> &list, const std::string &name) {
  auto found = std::find_if(list.begin(), list.end(), [&](const auto &each) { return each.first == name; });
  return found == list.end() ? nullptr : &found->second;
}

/// What a type parameter may be; of an element type itself.
struct TypeChoices {
  std::string name;
  std::vector<ElemType> choices;
};

TypeChoices typeOf(const Signature &signature, const std::string &parameter) {
  if (const auto typeParam = signature.typeParamOf.find(parameter); typeParam != signature.typeParamOf.end())
    return {typeParam->second, *choicesOf(signature.typeParams, typeParam->second)};
  const ConstParam *constant = signature.findConst(parameter);
  const ElemType elem = constant ? constant->elem : signature.findParam(parameter)->elem;
  return {std::string(spelling(elem)), {elem}};
}

/// What `when` says of the calls that a gradient is for.
class Condition {
public:
  Condition(const ast::Expr *when, const Signature &signature, Reporter &reporter)
      : signature(signature), reporter(reporter) {
    if (when)
      split(when);
  }

  void check() {
    for (const ast::Expr *part : parts) {
      checkOperands(part);
      const Val value = evalConstant(part, [&](std::string_view name) { return anyValue(std::string(name)); });
      if (value.isConst() && value.elem != ElemType::Bool)
        reporter.error(Diag::condition_not_bool, part->range, describe(value));
    }
  }

  /// Whether it holds of no call in which `name` has this value.
  bool excludes(const std::string &name, const Val &value) const {
    return std::any_of(parts.begin(), parts.end(), [&](const ast::Expr *part) {
      const Val holds = evalConstant(part, [&](std::string_view other) {
        const std::optional<ElemType> type = parseElemType(other);
        return other == name ? value : type ? typeValue(*type) : Val::error();
      });
      return holds.isConst() && holds.number == 0;
    });
  }

  bool isAbout(const std::string &name) const {
    return std::any_of(parts.begin(), parts.end(), [&](const ast::Expr *part) { return mentions(*part, name); });
  }

  /// Whether two dims are one in every call of which it holds.
  bool makesEqual(const DimExpr &left, const DimExpr &right) const {
    Polynomial difference = Polynomial(left) - Polynomial(right);
    for (const ast::Expr *part : parts)
      if (const auto equal = equality(part))
        difference = difference.replaced(equal->first, Polynomial(equal->second));
    return difference.isZero();
  }

  static Val typeValue(ElemType type) { return Val::integer(static_cast<int64_t>(type)); }

private:
  void split(const ast::Expr *expr) {
    auto *both = llvm::dyn_cast<ast::BinaryExpr>(expr);
    if (!both || both->op != ast::BinaryOp::And)
      return parts.push_back(expr);
    split(both->lhs);
    split(both->rhs);
  }

  /// `SYMBOL == dim`
  static std::optional<std::pair<std::string, DimExpr>> equality(const ast::Expr *part) {
    auto *binary = llvm::dyn_cast<ast::BinaryExpr>(part);
    if (!binary || binary->op != ast::BinaryOp::Eq)
      return std::nullopt;
    std::optional<DimExpr> left = tryDim(binary->lhs), right = tryDim(binary->rhs);
    if (left && right && left->kind == DimExpr::Symbol)
      return std::pair(left->symbol, *right);
    if (left && right && right->kind == DimExpr::Symbol)
      return std::pair(right->symbol, *left);
    return std::nullopt;
  }

  bool isType(const ast::Expr *expr) const {
    auto *name = llvm::dyn_cast<ast::NameExpr>(expr);
    return name && (parseElemType(name->name) || choicesOf(signature.typeParams, name->name));
  }

  /// Any call will do to see what kind of value a condition has.
  Val anyValue(const std::string &name) const {
    if (const ConstParam *constant = signature.findConst(name))
      return constant->elem == ElemType::Bool ? Val::boolean(true) : Val::integer(1);
    const bool isSymbol = std::count(signature.symbols.begin(), signature.symbols.end(), name) > 0;
    return isSymbol || parseElemType(name) || choicesOf(signature.typeParams, name) ? Val::integer(1) : Val::error();
  }

  /// Callers in other languages evaluate it, so it is made of little.
  void checkOperands(const ast::Expr *expr) {
    if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr); unary && unary->op != ast::UnaryOp::BitNot) {
      checkOperands(unary->operand);
    } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr); binary && isTaken(binary->op)) {
      const bool comparesTypes = binary->op == ast::BinaryOp::Eq || binary->op == ast::BinaryOp::Ne;
      if (comparesTypes && isType(binary->lhs) && isType(binary->rhs))
        return;
      checkOperands(binary->lhs);
      checkOperands(binary->rhs);
    } else if (auto *name = llvm::dyn_cast<ast::NameExpr>(expr); name && !isType(expr)) {
      if (anyValue(name->name).isError())
        reportUnknown(reporter, "dim or constant", name->name, name->range, known());
    } else if (auto *number = llvm::dyn_cast<ast::NumberExpr>(expr);
               !(number && !number->isFloat) && !llvm::isa<ast::BoolExpr, ast::ErrorExpr>(expr)) {
      reporter.error(Diag::gradient_condition, expr->range);
    }
  }

  static bool isTaken(ast::BinaryOp op) {
    switch (op) {
    case ast::BinaryOp::MatMul:
    case ast::BinaryOp::Shl:
    case ast::BinaryOp::Shr:
    case ast::BinaryOp::BitAnd:
    case ast::BinaryOp::BitXor:
    case ast::BinaryOp::BitOr:
      return false;
    default: // arithmetic, comparisons, `and`, `or`
      return true;
    }
  }

  std::vector<std::string> known() const {
    std::vector<std::string> names = signature.symbols;
    for (const ConstParam &constant : signature.consts)
      names.push_back(constant.name);
    return names;
  }

  const Signature &signature;
  Reporter &reporter;
  std::vector<const ast::Expr *> parts; ///< all have to hold
};

class GradientChecker {
public:
  GradientChecker(const ast::GradientDecl &decl, const Signature &forward, const Signature &backward,
                  Reporter &reporter)
      : call(*llvm::cast<ast::CallExpr>(decl.call)), forward(forward), backward(backward),
        reporter(reporter.diagnostics()), condition(decl.when, forward, this->reporter) {
    result.backward = backward.name;
    result.when = decl.when;
  }

  std::optional<Gradient> check() {
    condition.check();
    if (!isUnchanged() || !placeArguments())
      return std::nullopt;
    for (const std::string &parameter : backward.order)
      checkParameter(parameter);
    if (!reporter.failed() && gradients.empty())
      reporter.error(Diag::gradient_of_nothing, call.range);
    if (reporter.failed())
      return std::nullopt;
    bindDims();
    for (const Gradient::Argument &argument : result.arguments)
      checkDims(argument);
    if (!reporter.failed()) // of dims that do not agree choices would be those of others
      for (const auto &[symbol, choices] : backward.dimChoices)
        checkChoices(symbol, choices);
    return reporter.failed() ? std::nullopt : std::optional(std::move(result));
  }

private:
  bool isUnchanged() {
    for (const ir::Param &param : forward.params)
      if (param.mode == ir::ParamMode::InOut) {
        reporter.error(Diag::gradient_of_changed, call.range, forward.name, param.name)
            .note(Diag::note_declared_here, {param.loc, param.loc}, param.name);
        return false;
      }
    return true;
  }

  /// By place, then by name.
  bool placeArguments() {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const ast::Argument &argument = call.args[i];
      if (argument.name.text.empty() && i >= backward.order.size()) {
        reporter.error(Diag::number_of_arguments, call.range, backward.name, backward.order.size(), call.args.size());
        return false;
      }
      const std::string &name = argument.name.text.empty() ? backward.order[i] : argument.name.text;
      if (std::find(backward.order.begin(), backward.order.end(), name) == backward.order.end()) {
        reportUnknown(reporter, "parameter", name, argument.name.range, backward.order);
        return false;
      }
      if (!given.emplace(name, argument.value).second) {
        reporter.error(Diag::argument_twice, argument.value->range, name);
        return false;
      }
    }
    return true;
  }

  bool mayBeLeftOut(const std::string &parameter) const {
    if (const ConstParam *constant = backward.findConst(parameter))
      return constant->defaultValue.has_value();
    return backward.findParam(parameter)->isOptional || backward.scalarDefaults.count(parameter) > 0;
  }

  void checkParameter(const std::string &parameter) {
    const auto found = given.find(parameter);
    if (found == given.end() || llvm::isa<ast::NoneExpr>(found->second)) {
      if (!mayBeLeftOut(parameter))
        reporter.error(Diag::program_argument_missing, found == given.end() ? call.range : found->second->range,
                       backward.name, parameter);
      return;
    }
    if (std::optional<Gradient::Argument> argument = readArgument(parameter, found->second)) {
      if (checkRole(*argument, found->second->range) && checkType(*argument, found->second->range))
        result.arguments.push_back(std::move(*argument));
    }
  }

  /// A name, or `grad` of one.
  std::optional<Gradient::Argument> readArgument(const std::string &parameter, const ast::Expr *expr) {
    Gradient::Argument argument{parameter, "", false};
    const ast::Expr *value = expr;
    if (auto *inner = llvm::dyn_cast<ast::CallExpr>(expr)) {
      auto *callee = llvm::dyn_cast<ast::NameExpr>(inner->callee);
      argument.isGradient =
          callee && callee->name == "grad" && inner->args.size() == 1 && inner->args.front().name.text.empty();
      if (argument.isGradient)
        value = inner->args.front().value;
    }
    auto *name = llvm::dyn_cast<ast::NameExpr>(value);
    if (!name) {
      if (llvm::isa<ast::ErrorExpr>(value))
        reporter.fail();
      else
        reporter.error(Diag::gradient_argument, expr->range, forward.name);
      return std::nullopt;
    }
    if (std::find(forward.order.begin(), forward.order.end(), name->name) == forward.order.end()) {
      reportUnknown(reporter, "parameter", name->name, name->range, forward.order);
      return std::nullopt;
    }
    argument.value = name->name;
    return argument;
  }

  /// Whether the argument goes the way of its parameter: in or out, a tensor or a number.
  bool checkRole(const Gradient::Argument &argument, SourceRange where) {
    const ir::Param *to = backward.findParam(argument.parameter), *from = forward.findParam(argument.value);
    const bool isResult = to && to->mode != ir::ParamMode::In;
    const bool isOfInput = argument.isGradient && !(from && from->mode != ir::ParamMode::In);
    if (isResult && !isOfInput)
      reporter.error(Diag::gradient_of_inputs, where, to->name, backward.name, forward.name);
    else if (!isResult && isOfInput)
      reporter.error(Diag::gradient_of_outputs, where, argument.parameter, backward.name, forward.name);
    else if (argument.isGradient && !(from && from->isTensor && isFloat(from->elem)))
      reporter.error(Diag::gradient_of_integer, where, argument.value,
                     from && from->isTensor ? fmt::format("of `{}`", spelling(from->elem)) : "no tensor");
    else if (to && to->isTensor && !(from && from->isTensor))
      reporter.error(Diag::program_wants_tensor, where, to->name);
    else if (!to && !forward.findConst(argument.value))
      reporter.error(Diag::program_constant, where, fmt::format("`{}`", argument.parameter));
    else if (to && !to->isTensor && from && from->isTensor)
      reporter.error(Diag::program_wants_scalar, where, to->name, spelling(to->elem));
    else if (from && from->isOptional && from->mode == ir::ParamMode::In && !mayBeLeftOut(argument.parameter))
      reporter.error(Diag::gradient_left_out, where, argument.value, argument.parameter, backward.name);
    else if (to && to->isTensor && to->dims.size() != from->dims.size())
      reporter.error(Diag::program_rank, where, to->name, backward.name, to->dims.size(), from->dims.size());
    else if (isResult && !gradients.insert(argument.value).second)
      reporter.error(Diag::argument_twice, where, fmt::format("grad({})", argument.value));
    else
      return true;
    return false;
  }

  /// For each type that a call may have. What is computed may also be f32, of a narrower type.
  bool checkType(const Gradient::Argument &argument, SourceRange where) {
    const TypeChoices wanted = typeOf(backward, argument.parameter), had = typeOf(forward, argument.value);
    const ir::Param *to = backward.findParam(argument.parameter);
    const bool mayWiden = to && to->mode != ir::ParamMode::In && wanted.choices == std::vector{ElemType::F32};
    const bool isParam = backward.typeParamOf.count(argument.parameter) > 0;
    if (isParam && types.try_emplace(wanted.name, had.name).first->second != had.name) {
      reporter.error(Diag::gradient_type, where, argument.parameter, backward.name, types[wanted.name], had.name);
      return false;
    }
    for (const ElemType type : had.choices) {
      const bool isTaken = std::count(wanted.choices.begin(), wanted.choices.end(), type) > 0;
      if (isTaken || (mayWiden && type != ElemType::F64) || condition.excludes(had.name, Condition::typeValue(type)))
        continue;
      reporter.error(Diag::gradient_type, where, argument.parameter, backward.name, wanted.name, spelling(type));
      return false;
    }
    return true;
  }

  // ---- dims ----

  SourceRange rangeOf(const Gradient::Argument &argument) const { return given.at(argument.parameter)->range; }

  /// What symbols and constants of `backward` are in `forward`.
  void bindDims() {
    for (const Gradient::Argument &argument : result.arguments) {
      const ir::Param *to = backward.findParam(argument.parameter), *from = forward.findParam(argument.value);
      if (!to) {
        dims.emplace(argument.parameter, DimExpr::named(argument.value));
        continue;
      }
      for (size_t i = 0; i < std::min(to->dims.size(), from ? from->dims.size() : 0); ++i)
        if (const std::optional<std::string> symbol = boundSymbol(to->dims[i])) {
          const std::optional<int64_t> offset = evaluate(to->dims[i], {{*symbol, 0}});
          const DimExpr &dim = from->dims[i];
          dims.try_emplace(
              *symbol, offset && *offset != 0 ? DimExpr::binary(DimExpr::Sub, dim, DimExpr::constant(*offset)) : dim);
        }
    }
  }

  void checkDims(const Gradient::Argument &argument) {
    const ir::Param *to = backward.findParam(argument.parameter), *from = forward.findParam(argument.value);
    if (!to || !to->isTensor)
      return;
    for (size_t i = 0; i < to->dims.size(); ++i) {
      const DimExpr wanted = replaced(to->dims[i], dims);
      if (condition.makesEqual(wanted, from->dims[i]))
        continue;
      Reported error = reporter.error(Diag::gradient_dims, rangeOf(argument), i, to->name, backward.name, wanted.str(),
                                      from->dims[i].str());
      if (wanted.kind == DimExpr::Symbol || from->dims[i].kind == DimExpr::Symbol)
        error.note(Diag::note_gradient_when, rangeOf(argument), wanted.str(), from->dims[i].str());
      return;
    }
  }

  /// Every size that a call may have is one that `backward` is compiled for.
  void checkChoices(const std::string &symbol, const std::vector<int64_t> &choices) {
    const auto bound = dims.find(symbol);
    if (bound == dims.end())
      return; // the first of its choices
    const DimExpr &dim = bound->second;
    const std::vector<int64_t> *sizes = choicesOf(forward.dimChoices, dim.symbol);
    if (!sizes && !dim.isConst()) {
      if (!condition.isAbout(dim.symbol))
        reporter.error(Diag::gradient_choice, call.range, symbol, backward.name, "anything", dim.str(),
                       choices.front());
      return;
    }
    for (const int64_t size : sizes ? *sizes : std::vector{dim.value})
      if (std::count(choices.begin(), choices.end(), size) == 0 &&
          !condition.excludes(dim.symbol, Val::integer(size))) {
        reporter.error(Diag::gradient_choice, call.range, symbol, backward.name, size, dim.str(), choices.front());
        return;
      }
  }

  const ast::CallExpr &call;
  const Signature &forward, &backward;
  Reporter reporter;
  Condition condition;
  std::map<std::string, const ast::Expr *> given; ///< by parameters of `backward`
  std::set<std::string> gradients;                ///< of these inputs
  std::map<std::string, std::string> types;       ///< what type parameters of `backward` are in `forward`
  std::map<std::string, DimExpr> dims;            ///< what its symbols are
  Gradient result;
};

} // namespace

std::optional<Gradient> checkGradient(const ast::GradientDecl &decl, const Signature &signature, const Module &module,
                                      Reporter &reporter) {
  auto *call = llvm::dyn_cast<ast::CallExpr>(decl.call);
  auto *callee = call ? llvm::dyn_cast<ast::NameExpr>(call->callee) : nullptr;
  if (!callee) {
    if (!llvm::isa<ast::ErrorExpr>(decl.call))
      reporter.error(Diag::gradient_call, decl.call->range, signature.name);
    return std::nullopt;
  }
  const KernelInfo *kernel = module.findKernel(callee->name);
  const ProgramInfo *program = module.findProgram(callee->name);
  if (!kernel && !program) {
    reportUnknown(reporter, "kernel or program", callee->name, callee->range, module.callables());
    return std::nullopt;
  }
  const Signature &backward = kernel ? kernel->signature : program->signature;
  if (!signature.isSound || !backward.isSound)
    return std::nullopt;
  return GradientChecker(decl, signature, backward, reporter).check();
}

} // namespace tkc::sema
