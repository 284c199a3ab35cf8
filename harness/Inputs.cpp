// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Inputs.h"

#include "frontend/reference/Reference.h"
#include "harness/Random.h"
#include "support/Diagnostics.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numeric>

namespace tkc::harness {
namespace {

/// Runs one equation as a reference of its own: the values, unrounded.
std::optional<Tensor> evaluate(ast::Equation equation, ElemType elem, std::vector<int64_t> dims, const Names &names,
                               DiagnosticEngine &diagnostics) {
  ReferenceInput input;
  ast::ReferenceDecl reference;
  reference.name = equation.name;
  const std::string name = equation.name.text;
  reference.equations.push_back(std::move(equation));
  input.reference = &reference;
  input.arguments = names.arguments;
  input.arguments.tensors[name] = {elem, std::move(dims), {}};
  input.scalarTypes = names.scalarTypes;
  input.constants = names.constants;
  input.typeArgs = names.typeArgs;
  input.functions = names.module ? &names.module->functions : nullptr;
  input.outputs = {name};
  std::map<std::string, Tensor> results = evaluateReference(input, diagnostics);
  auto found = results.find(name);
  if (found == results.end())
    return std::nullopt;
  return std::move(found->second);
}

/// Reports a number that an integer type does not have.
bool checkRange(Number value, ElemType elem, const std::string &name, SourceRange where,
                DiagnosticEngine &diagnostics) {
  if (isInRange(elem, value))
    return true;
  diagnostics.report(Diag::case_number, where, name, outOfRange(elem, value));
  return false;
}

/// The arguments of a generator, by name or by the place that `order` gives them.
class Arguments {
public:
  Arguments(const ast::CallExpr &call, std::vector<std::string> order, const Names &names,
            DiagnosticEngine &diagnostics)
      : order(std::move(order)), names(names), diagnostics(diagnostics) {
    const std::string &callee = llvm::cast<ast::NameExpr>(call.callee)->name;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const ast::Argument &arg = call.args[i];
      const std::string name = !arg.name.text.empty()   ? arg.name.text
                               : i < this->order.size() ? this->order[i]
                                                        : std::string("?");
      if (std::count(this->order.begin(), this->order.end(), name) == 0 && name != "pad" && name != "order") {
        diagnostics.report(Diag::case_generator_argument, arg.value->range, callee,
                           fmt::format("`{}`", fmt::join(this->order, "`, `")));
        isGood = false;
      }
      values[name] = arg.value;
    }
  }

  double number(const std::string &name, double otherwise) { return given(name).value_or(otherwise).toDouble(); }

  /// A number that stands in the tensor.
  int64_t element(const std::string &name, int64_t otherwise, ElemType elem) {
    const std::optional<Number> value = given(name);
    if (value)
      isGood &= checkRange(*value, elem, name, values.at(name)->range, diagnostics);
    return value.value_or(Number::ofInteger(otherwise)).toInteger();
  }

  /// `pad` and `order`, which every generator takes.
  Layout layout(size_t rank) {
    Layout layout;
    layout.pad = static_cast<int64_t>(number("pad", 0));
    auto found = values.find("order");
    if (found == values.end())
      return layout;
    std::vector<int> seen;
    if (const auto *list = llvm::dyn_cast<ast::ListExpr>(found->second))
      for (const ast::Expr *element : list->elements)
        layout.order.push_back(static_cast<int>(evaluateNumber(*element, names, diagnostics).value_or(-1).toInteger()));
    seen = layout.order;
    std::sort(seen.begin(), seen.end());
    std::vector<int> all(rank);
    std::iota(all.begin(), all.end(), 0);
    if (seen != all || layout.order.back() != static_cast<int>(rank) - 1) {
      diagnostics.report(Diag::case_order, found->second->range, rank);
      isGood = false;
    }
    return layout;
  }

  bool isGood = true;

private:
  std::optional<Number> given(const std::string &name) {
    auto found = values.find(name);
    if (found == values.end())
      return std::nullopt;
    const std::optional<Number> value = evaluateNumber(*found->second, names, diagnostics);
    isGood &= value.has_value();
    return value;
  }

  std::vector<std::string> order;
  const Names &names;
  DiagnosticEngine &diagnostics;
  std::map<std::string, const ast::Expr *> values;
};

void fillPermutations(Tensor &tensor, Random &random) {
  const int64_t row = tensor.dims.empty() ? 1 : tensor.dims.back();
  std::vector<int64_t> numbers(static_cast<size_t>(row));
  for (int64_t begin = 0; row && begin < tensor.numElements(); begin += row) {
    std::iota(numbers.begin(), numbers.end(), 0);
    for (int64_t i = row - 1; i > 0; --i)
      std::swap(numbers[i], numbers[random.integer(0, i)]);
    for (int64_t i = 0; i < row; ++i)
      tensor.set(begin + i, Number::ofInteger(numbers[i]));
  }
}

bool makeFromGenerator(const ast::CallExpr &call, Tensor &tensor, uint64_t seed, const Names &names, Layout &layout,
                       DiagnosticEngine &diagnostics) {
  const std::string &generator = llvm::cast<ast::NameExpr>(call.callee)->name;
  const auto start = [&](Arguments &arguments) {
    layout = arguments.layout(tensor.dims.size());
    const double given = arguments.number("seed", -1);
    return Random(given < 0 ? seed : seedFrom("seed", static_cast<uint64_t>(given)));
  };
  const auto fill = [&](auto next) {
    for (size_t i = 0; i < tensor.numValues(); ++i)
      tensor.set(i, next());
  };
  if (generator == "normal") {
    Arguments arguments(call, {"seed", "std", "mean"}, names, diagnostics);
    Random random = start(arguments);
    const double std = arguments.number("std", 1), mean = arguments.number("mean", 0);
    fill([&] { return mean + std * random.normal(); });
    return arguments.isGood;
  }
  if (generator == "uniform") {
    Arguments arguments(call, {"lo", "hi", "seed"}, names, diagnostics);
    Random random = start(arguments);
    const double lo = arguments.number("lo", 0), hi = arguments.number("hi", 1);
    fill([&] { return lo + (hi - lo) * random.uniform(); });
    return arguments.isGood;
  }
  if (generator == "integers") {
    Arguments arguments(call, {"lo", "hi", "seed"}, names, diagnostics);
    Random random = start(arguments);
    const int64_t lo = arguments.element("lo", 0, tensor.elem), hi = arguments.element("hi", 7, tensor.elem);
    fill([&] { return Number::ofInteger(random.integer(lo, hi)); });
    return arguments.isGood;
  }
  Arguments arguments(call, {"seed"}, names, diagnostics);
  Random random = start(arguments);
  fillPermutations(tensor, random);
  return arguments.isGood;
}

/// Without what a cast to an integer leaves out.
Number whole(Number value) { return value.isInteger() ? value : Number(std::trunc(value.toDouble())); }

bool isGenerator(const ast::Expr &expr) {
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr);
  const auto *callee = call ? llvm::dyn_cast<ast::NameExpr>(call->callee) : nullptr;
  return callee && (callee->name == "normal" || callee->name == "uniform" || callee->name == "integers" ||
                    callee->name == "permutation");
}

/// Nested lists: the dims are those of the first element of each level, and the others must match.
bool flatten(const std::string &name, const ast::Expr &expr, size_t depth, Tensor &tensor, const Names &names,
             DiagnosticEngine &diagnostics) {
  const auto *list = llvm::dyn_cast<ast::ListExpr>(&expr);
  if (!list) {
    const std::optional<Number> value = evaluateNumber(expr, names, diagnostics);
    if (!value || !checkRange(*value, tensor.elem, name, expr.range, diagnostics))
      return false;
    tensor.resize(tensor.numValues() + 1);
    tensor.set(tensor.numValues() - 1, *value);
    return true;
  }
  const auto size = static_cast<int64_t>(list->elements.size());
  if (depth == tensor.dims.size())
    tensor.dims.push_back(size);
  if (tensor.dims[depth] != size) {
    diagnostics.report(Diag::case_ragged_list, expr.range, size, tensor.dims[depth]);
    return false;
  }
  for (const ast::Expr *element : list->elements)
    if (!flatten(name, *element, depth + 1, tensor, names, diagnostics))
      return false;
  return true;
}

} // namespace

std::optional<Number> evaluateNumber(const ast::Expr &expr, const Names &names, DiagnosticEngine &diagnostics) {
  ast::Equation equation;
  equation.name.text = "this number";
  equation.value = const_cast<ast::Expr *>(&expr);
  equation.range = expr.range;
  const std::optional<Tensor> value = evaluate(std::move(equation), ElemType::F64, {}, names, diagnostics);
  return value ? std::optional(value->at(0)) : std::nullopt;
}

std::optional<Tensor> readLiteral(const ast::Equation &setting, ElemType elem, const Names &names,
                                  DiagnosticEngine &diagnostics) {
  if (!setting.indices.empty())
    return std::nullopt;
  if (llvm::isa<ast::ListExpr>(setting.value)) {
    Tensor tensor{elem, {}, {}};
    return flatten(setting.name.text, *setting.value, 0, tensor, names, diagnostics) ? tensor : Tensor{elem, {}, {}};
  }
  const auto *call = llvm::dyn_cast<ast::CallExpr>(setting.value);
  const auto *callee = call ? llvm::dyn_cast<ast::NameExpr>(call->callee) : nullptr;
  if (!callee || callee->name != "file")
    return std::nullopt;
  const auto *path = call->args.size() == 1 ? llvm::dyn_cast<ast::StringExpr>(call->args[0].value) : nullptr;
  if (!path) {
    diagnostics.report(Diag::case_generator_argument, call->range, "file", "the path of a .npy file");
    return Tensor{elem, {}, {}};
  }
  llvm::SmallString<128> full(
      llvm::sys::path::parent_path(llvm::StringRef(diagnostics.sourceManager().name(setting.range.begin.buffer))));
  llvm::sys::path::append(full, path->value);
  std::string error;
  std::optional<Tensor> tensor = readNpy(full.str().str(), elem, error);
  if (!tensor)
    diagnostics.report(Diag::case_file, path->range, path->value, error);
  return tensor ? std::move(tensor) : Tensor{elem, {}, {}};
}

bool makeInput(const ast::Equation &setting, Tensor &tensor, uint64_t seed, const Names &names, Layout &layout,
               DiagnosticEngine &diagnostics) {
  tensor.resize(tensor.numElements());
  if (setting.indices.empty() && isGenerator(*setting.value))
    return makeFromGenerator(*llvm::cast<ast::CallExpr>(setting.value), tensor, seed, names, layout, diagnostics);
  if (setting.indices.empty()) {
    const std::optional<Number> value = evaluateNumber(*setting.value, names, diagnostics);
    if (!value || !checkRange(*value, tensor.elem, setting.name.text, setting.value->range, diagnostics))
      return false;
    tensor.fill(*value);
    return true;
  }
  if (tensor.numValues() == 0)
    return true;
  std::optional<Tensor> result = evaluate(setting, tensor.elem, tensor.dims, names, diagnostics);
  if (!result)
    return false;
  for (size_t i = 0; i < tensor.numValues(); ++i)
    if (!isInRange(tensor.elem, whole(result->at(i))))
      return checkRange(whole(result->at(i)), tensor.elem, setting.name.text, setting.value->range, diagnostics);
    else
      tensor.set(i, result->at(i));
  return true;
}

void makeDefaultInput(Tensor &tensor, uint64_t seed) {
  Random random(seed);
  tensor.resize(tensor.numElements());
  for (size_t i = 0; i < tensor.numValues(); ++i) {
    Number value;
    switch (tensor.elem) {
    case ElemType::F64:
    case ElemType::F32:
    case ElemType::TF32:
    case ElemType::F16:
    case ElemType::BF16:
    case ElemType::F8E4M3:
    case ElemType::F8E5M2:
    case ElemType::F4E2M1:
    case ElemType::F6E2M3:
    case ElemType::F6E3M2:
      value = random.normal();
      break;
    case ElemType::F8E8M0: // scales near 1
      value = std::ldexp(1.0, static_cast<int>(random.integer(-3, 3)));
      break;
    case ElemType::I64:
    case ElemType::I32:
      value = static_cast<double>(random.integer(0, 7));
      break;
    case ElemType::I8:
      value = static_cast<double>(random.integer(-128, 127));
      break;
    case ElemType::U8:
      value = static_cast<double>(random.integer(0, 255));
      break;
    case ElemType::I4:
      value = static_cast<double>(random.integer(-8, 7));
      break;
    case ElemType::U4:
      value = static_cast<double>(random.integer(0, 15));
      break;
    case ElemType::Bool:
      value = static_cast<double>(random.integer(0, 1));
      break;
    }
    tensor.set(i, value);
  }
}

} // namespace tkc::harness
