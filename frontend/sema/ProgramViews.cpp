// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of programs and views of them: `new`, slices, `order`, `view`. Strides only, never a copy; what a view needs
// of the caller's strides becomes a check at launch.
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/ProgramPlanner.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc {

std::string strideName(const std::string &param, size_t dim) { return fmt::format("{}.stride{}", param, dim); }

namespace sema {

using ir::DimExpr;
using Arg = ProgramPlanner::Arg;

static bool isNumber(const DimExpr &dim, int64_t value) { return dim.isConst() && dim.value == value; }

static DimExpr times(const DimExpr &a, const DimExpr &b) {
  if (isNumber(a, 0) || isNumber(b, 0))
    return DimExpr::constant(0);
  if (isNumber(a, 1))
    return b;
  if (isNumber(b, 1))
    return a;
  return substitute(DimExpr::binary(DimExpr::Mul, a, b), {});
}

static DimExpr plus(const DimExpr &a, const DimExpr &b) {
  if (isNumber(a, 0))
    return b;
  if (isNumber(b, 0))
    return a;
  return substitute(DimExpr::binary(DimExpr::Add, a, b), {});
}

std::vector<DimExpr> ProgramPlanner::denseStrides(const std::vector<DimExpr> &dims) {
  std::vector<DimExpr> strides(dims.size());
  DimExpr stride = DimExpr::constant(1);
  for (size_t i = dims.size(); i-- > 0; stride = times(dims[i], stride))
    strides[i] = stride;
  return strides;
}

bool ProgramPlanner::isEqual(const DimExpr &a, const DimExpr &b) const {
  Polynomial difference = Polynomial(a) - Polynomial(b);
  for (auto &[symbol, value] : equalities)
    difference = difference.replaced(symbol, value);
  return difference.isZero();
}

bool ProgramPlanner::require(const DimExpr &a, const DimExpr &b, SourceRange where, const std::string &message) {
  if (isEqual(a, b))
    return true;
  Polynomial difference = Polynomial(a) - Polynomial(b);
  if (difference.isNonZeroNumber()) {
    reporter.error(Diag::program_dims_differ, where, message, a.str(), b.str());
    return false;
  }
  bool isKnown = std::any_of(plan->checks.begin(), plan->checks.end(), [&](const ProgramCheck &check) {
    return check.lhs.str() == a.str() && check.rhs.str() == b.str();
  });
  if (!isKnown)
    plan->checks.push_back({a, b, message, where.begin});
  return true;
}

std::optional<TensorView> ProgramPlanner::newTensor(const ast::NewExpr &expr, const std::string &name) {
  std::optional<ElemType> elem = parseElemType(expr.type.text);
  for (auto &[typeParam, type] : specialization.typeArgs)
    if (typeParam == expr.type.text)
      elem = type;
  if (!elem) {
    reportUnknown(reporter, "type", expr.type.text, expr.type.range, {"f32", "f64", "f16", "bf16", "i32", "i8", "u8"});
    return std::nullopt;
  }
  Workspace workspace{name, *elem, {}, expr.range.begin};
  for (const ast::Expr *dim : expr.dims) {
    std::optional<DimExpr> size = this->dim(dim);
    if (!size)
      return std::nullopt;
    workspace.dims.push_back(*size);
  }
  // A loop that is unrolled makes one each time.
  auto isTaken = [&](const std::string &name) {
    return findParam(name) || std::any_of(plan->workspaces.begin(), plan->workspaces.end(),
                                          [&](const Workspace &other) { return other.name == name; });
  };
  for (int i = 1; isTaken(workspace.name); ++i)
    workspace.name = fmt::format("{}_{}", name, i);
  TensorView view{workspace.name, *elem, workspace.dims, denseStrides(workspace.dims), DimExpr::constant(0)};
  plan->workspaces.push_back(std::move(workspace));
  if (!expr.fill)
    return view;
  Arg fill = this->expr(expr.fill);
  if (fill.kind == Arg::Scalar && isPacked(*elem)) {
    reporter.error(Diag::packed_program, expr.fill->range, spelling(*elem));
  } else if (fill.kind == Arg::Scalar) {
    plan->steps.push_back(FillStep{view, fill.scalar, expr.range.begin});
    written.insert(view.tensor);
  } else if (fill.kind != Arg::Error) {
    reporter.error(Diag::program_assign, expr.fill->range);
  }
  return view;
}

/// An integer drops its dim, `lo:hi` takes a part of it, `:` all.
Arg ProgramPlanner::slice(const ast::IndexExpr &expr) {
  Arg base = this->expr(expr.base);
  if (base.kind == Arg::Error)
    return base;
  if (base.kind != Arg::Tensor) {
    reporter.error(Diag::program_arithmetic, expr.range);
    return {};
  }
  const TensorView &from = base.view;
  if (from.dims.size() != expr.subscripts.size()) {
    reporter.error(Diag::number_of_indices, expr.range, from.tensor, from.dims.size(), expr.subscripts.size());
    return {};
  }
  if (isPacked(from.elem)) {
    reporter.error(Diag::packed_program, expr.range, spelling(from.elem));
    return {};
  }
  TensorView to{from.tensor, from.elem, {}, {}, from.offset};
  for (size_t i = 0; i < from.dims.size(); ++i) {
    const ast::Subscript &subscript = expr.subscripts[i];
    std::optional<DimExpr> first = subscript.first ? dim(subscript.first) : DimExpr::constant(0);
    std::optional<DimExpr> second = subscript.second ? dim(subscript.second) : from.dims[i];
    if (!first || !second)
      return {};
    to.offset = plus(to.offset, times(*first, from.strides[i]));
    if (subscript.kind == ast::Subscript::Element)
      continue;
    to.dims.push_back(substitute(
        first->isConst() && first->value == 0 ? *second : DimExpr::binary(DimExpr::Sub, *second, *first), {}));
    to.strides.push_back(from.strides[i]);
  }
  if (to.dims.empty() || !to.strides.back().isConst() || to.strides.back().value != 1) {
    reporter.error(Diag::program_last_dim, expr.range);
    return {};
  }
  return ofTensor(std::move(to));
}

Arg ProgramPlanner::method(const ast::CallExpr &call, const ast::MemberExpr &callee) {
  Arg base = expr(callee.base);
  if (base.kind == Arg::Error)
    return base;
  if (base.kind == Arg::Tensor && callee.member.text == "order")
    return order(call, base.view);
  if (base.kind == Arg::Tensor && callee.member.text == "view")
    return view(call, base.view);
  reportUnknown(reporter, "view of a tensor", callee.member.text, callee.member.range, {"order", "view"});
  return {};
}

Arg ProgramPlanner::order(const ast::CallExpr &call, const TensorView &from) {
  TensorView to{from.tensor, from.elem, {}, {}, from.offset};
  std::set<int64_t> seen;
  for (const ast::Argument &arg : call.args) {
    std::optional<int64_t> place = constant(arg.value, "a place in `order`");
    if (!place)
      return {};
    if (*place < 0 || *place >= static_cast<int64_t>(from.dims.size()) || !seen.insert(*place).second)
      break;
    to.dims.push_back(from.dims[static_cast<size_t>(*place)]);
    to.strides.push_back(from.strides[static_cast<size_t>(*place)]);
  }
  if (to.dims.size() != from.dims.size() || call.args.size() != from.dims.size()) {
    reporter.error(Diag::program_order, call.range, from.dims.size() - 1);
    return {};
  }
  if (!to.strides.back().isConst() || to.strides.back().value != 1) {
    reporter.error(Diag::program_last_dim, call.range);
    return {};
  }
  return ofTensor(std::move(to));
}

/// `x.view(B * N, C)`: neighbouring dims merge where the sizes show which, and otherwise the tensor has to be dense.
Arg ProgramPlanner::view(const ast::CallExpr &call, const TensorView &from) {
  TensorView to{from.tensor, from.elem, {}, {}, from.offset};
  for (const ast::Argument &arg : call.args) {
    std::optional<DimExpr> size = dim(arg.value);
    if (!size)
      return {};
    to.dims.push_back(*size);
  }
  if (to.dims.empty()) {
    reporter.error(Diag::too_few_arguments, call.range, "view");
    return {};
  }
  if (!regroup(from, to, call))
    requireDense(from, to, call);
  return ofTensor(std::move(to));
}

static std::string viewNeeds(const ast::CallExpr &call, const SourceManager &sources) {
  return fmt::format("`{}`", sources.text(call.range));
}

/// From the last dim on, each new dim is a run of old ones whose sizes multiply to its own.
bool ProgramPlanner::regroup(const TensorView &from, TensorView &to, const ast::CallExpr &call) {
  std::vector<DimExpr> strides(to.dims.size(), DimExpr::constant(1));
  std::vector<std::pair<DimExpr, DimExpr>> needs;
  size_t at = from.dims.size();
  for (size_t i = to.dims.size(); i-- > 0;) {
    if (at == 0)
      return false;
    strides[i] = from.strides[--at];
    DimExpr product = from.dims[at];
    while (!isEqual(product, to.dims[i])) {
      if (at == 0)
        return false;
      needs.emplace_back(from.strides[at - 1], times(from.dims[at], from.strides[at]));
      product = times(from.dims[--at], product);
    }
  }
  if (at != 0)
    return false;
  to.strides = std::move(strides);
  for (auto &[stride, wanted] : needs)
    require(stride, wanted, call.range, viewNeeds(call, reporter.diagnostics().sourceManager()) + " merges dims");
  return true;
}

void ProgramPlanner::requireDense(const TensorView &from, TensorView &to, const ast::CallExpr &call) {
  std::string text = viewNeeds(call, reporter.diagnostics().sourceManager());
  std::vector<DimExpr> dense = denseStrides(from.dims);
  for (size_t i = 0; i + 1 < from.dims.size(); ++i)
    require(from.strides[i], dense[i], call.range, text + " takes a dense tensor");
  to.strides = denseStrides(to.dims);
  require(times(from.dims[0], dense[0]), times(to.dims[0], to.strides[0]), call.range, text + " keeps every element");
}

} // namespace sema
} // namespace tkc
