// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Expected.h"

#include "support/Diagnostics.h"
#include "support/Rounding.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace tkc::harness {
namespace {

/// How far a right `value` of type `elem` may be from `reference`, whose steps may err by `error`.
/// Where nothing was rounded before, the last rounding is the only one, and exact.
double toleranceOf(ElemType elem, double reference, double error) {
  if (!isFloat(elem) || !std::isfinite(reference) || error == 0)
    return 0;
  const double slack = allowedFor(error);
  const double rounding = unitRoundoff(elem) * std::max(std::fabs(reference) + slack, smallestNormal(elem));
  return slack + rounding * (1 + 0x1p-20);
}

bool isLargest(ElemType elem, double value) { return std::fabs(value) == roundTo(elem, 0x1p100); }

/// What to compare with: what the element type makes of the reference if its steps do not err. If they do, a reference
/// between two numbers of the type may round to either, so it stays as it is but for what the type cannot hold:
/// infinities and what saturates.
double wantedOf(ElemType elem, double reference, double error) {
  const double rounded = roundTo(elem, reference);
  if (!isFloat(elem) || error == 0 || std::isinf(rounded))
    return rounded;
  return saturates(elem) && std::fabs(reference) > std::fabs(rounded) && isLargest(elem, rounded) ? rounded : reference;
}

std::string elementName(const std::string &tensor, const std::vector<int64_t> &dims, int64_t at) {
  std::string indices;
  for (size_t d = dims.size(); d-- > 0;) {
    indices = fmt::format("{}{}{}", at % dims[d], indices.empty() ? "" : ", ", indices);
    at /= dims[d];
  }
  return fmt::format("{}[{}]", tensor, indices);
}

/// |x − y|, of integers that are not equal at least 1.
double difference(Number x, Number y) {
  if (!x.isInteger())
    return std::fabs(x.toDouble() - y.toDouble());
  return x.toInteger() == y.toInteger() ? 0 : std::max(1.0, std::fabs(x.toDouble() - y.toDouble()));
}

/// |got − wanted| in units of the tolerance; more than 1 is wrong.
double excess(Number got, Number wanted, double tolerance) {
  const bool isNaN = std::isnan(got.toDouble());
  if (isNaN || std::isnan(wanted.toDouble()))
    return isNaN && std::isnan(wanted.toDouble()) ? 0 : INFINITY;
  const bool isSame = got.isInteger() ? difference(got, wanted) == 0 : got.toDouble() == wanted.toDouble();
  if (isSame)
    return 0;
  return tolerance > 0 ? difference(got, wanted) / tolerance : INFINITY;
}

std::string shown(Number value) { return value.isInteger() ? value.str() : fmt::format("{:.9g}", value.toDouble()); }

/// Nothing is computed with it: it goes to tensors that the kernel does not read.
bool isOnlyStored(const ir::Function &function, const ir::Value &value) {
  const auto isRead = [&](const std::string &tensor) {
    bool found = false;
    ir::walk(const_cast<ir::Block &>(function.body),
             [&](const ir::Op &op) { found |= op.kind == ir::OpKind::Load && op.view.tensor == tensor; });
    return found;
  };
  return std::all_of(value.users.begin(), value.users.end(), [&](const ir::Op *user) {
    return user->kind == ir::OpKind::Store && user->operands().back() == &value && !isRead(user->view.tensor);
  });
}

/// Whether a kernel that stores zeros passes, although the reference has others. What is as far below its bound as f64
/// is finer than f32 may be a zero itself, which the reference misses by its own rounding.
bool zerosPass(const ExpectedTensor &expected) {
  bool hasOthers = false;
  for (size_t i = 0; i < expected.values.numValues(); ++i) {
    const double size = std::fabs(expected.values.at(i).toDouble()), tolerance = expected.tolerances[i];
    if (!(size <= tolerance))
      return false;
    hasOthers |= size > tolerance * 0x1p-29;
  }
  return hasOthers;
}

} // namespace

ErrorModel errorModelOf(const std::vector<const ir::Function *> &functions, Arithmetic arithmetic,
                        const std::vector<ElemType> &between, bool flushes) {
  ErrorModel model;
  const auto addNarrow = [&](ElemType elem) {
    model.narrow = std::max(model.narrow, unitRoundoff(elem));
    model.narrowStep = std::max(model.narrowStep, unitRoundoff(elem) * smallestNormal(elem));
  };
  for (ElemType elem : between)
    if (isFloat(elem) && elem != ElemType::F32 && elem != ElemType::F64)
      addNarrow(elem);
  bool isDouble = true;
  bool multipliesFloat8 = false;
  for (const ir::Function *function : functions) {
    ir::walk(const_cast<ir::Block &>(function->body), [&](const ir::Op &op) {
      if (op.kind == ir::OpKind::Dot || op.kind == ir::OpKind::DotScaled)
        multipliesFloat8 |= saturates(op.operand(0)->type.elem);
      if (flushes && op.kind == ir::OpKind::Dot && bitWidth(op.operand(0)->type.elem) == 16)
        model.flushed = std::max(model.flushed, smallestNormal(op.operand(0)->type.elem));
      for (const auto &result : op.results) {
        const ElemType elem = result->type.elem;
        if (!isFloat(elem) || result->type.kind == ir::Type::TileIndex)
          continue;
        isDouble &= elem == ElemType::F64;
        if (op.kind == ir::OpKind::Cast && elem != ElemType::F32 && elem != ElemType::F64 && elem != ElemType::F8E8M0 &&
            !isOnlyStored(*function, *result))
          addNarrow(elem);
      }
    });
  }
  if (isDouble) {
    model.compute = model.accumulate = 0x1p-53;
    model.tanh = 0x1p-51;
    model.least = 0x1p-1022;
    return model;
  }
  switch (arithmetic) {
  case Arithmetic::Exact:
    break;
  case Arithmetic::Nvidia:
    // Tensor cores truncate as they add, float8 products to about 14 bits.
    model.accumulate = multipliesFloat8 ? 0x1p-14 : 0x1p-23;
    model.vanishing = model.least;
    break;
  }
  return model;
}

std::optional<Expected> computeExpected(const PreparedCase &prepared, const Module &module, const ErrorModel &model,
                                        DiagnosticEngine &diagnostics) {
  Expected expected;
  if (!prepared.reference)
    return expected;
  ReferenceInput input;
  input.reference = prepared.reference;
  input.arguments = prepared.arguments;
  input.scalarTypes = prepared.scalarTypes;
  for (const auto &[name, value] : prepared.signature->tunes)
    input.constants[name] = value;
  for (const auto &[name, value] : prepared.tunes)
    input.constants[name] = value;
  for (const auto &[name, value] : prepared.specialization.constants)
    input.constants[name] = value;
  for (const auto &[name, type] : prepared.specialization.typeArgs)
    input.typeArgs[name] = type;
  input.absent.assign(prepared.specialization.absent.begin(), prepared.specialization.absent.end());
  input.functions = &module.functions;
  for (const ir::Param &param : prepared.signature->params)
    if (param.isTensor && param.mode != ir::ParamMode::In && !prepared.specialization.absent.count(param.name))
      input.outputs.push_back(param.name);
  std::map<std::string, Tensor> errors;
  const std::map<std::string, Tensor> values = evaluateReference(input, diagnostics, &model, &errors);
  if (values.empty() && !input.outputs.empty())
    return std::nullopt;
  for (const auto &[name, tensor] : values) {
    const ElemType elem = prepared.arguments.tensors.at(name).elem;
    const size_t count = tensor.numValues();
    ExpectedTensor &out = expected[name];
    out = {{elem, tensor.dims, {}}, std::vector<double>(count)};
    out.values.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const double reference = tensor.at(i).toDouble();
      const double error = tensor.isOfIntegers() ? 0 : errors.at(name).data[i];
      if (isFloat(elem))
        out.values.data[i] = wantedOf(elem, reference, error);
      else
        out.values.set(i, tensor.at(i));
      out.tolerances[i] = prepared.tolerance ? *prepared.tolerance * std::max(1.0, std::fabs(reference))
                                             : toleranceOf(elem, reference, error);
    }
  }
  return expected;
}

bool showsSomething(const PreparedCase &prepared, const Expected &expected, DiagnosticEngine &diagnostics) {
  for (const auto &[name, wanted] : expected)
    if (zerosPass(wanted)) {
      diagnostics.report(Diag::case_shows_nothing, prepared.decl->name.range, name);
      return false;
    }
  return true;
}

Comparison compare(const std::map<std::string, Tensor> &got, const Expected &expected) {
  Comparison result;
  int64_t numWrong = 0, numElements = 0;
  double worst = 0;
  for (const auto &[name, wanted] : expected) {
    const Tensor &tensor = got.at(name);
    numElements += wanted.values.numElements();
    for (size_t i = 0; i < wanted.values.numValues(); ++i) {
      const double tolerance = wanted.tolerances[i];
      const Number value = tensor.at(i), right = wanted.values.at(i);
      const double here = excess(value, right, tolerance);
      numWrong += here > 1;
      if (here <= worst)
        continue;
      worst = here;
      result.maxError = difference(value, right);
      result.tolerance = tolerance;
      if (here > 1)
        result.message =
            fmt::format("`{}` is {}, not {} ± {:.3g}", elementName(name, wanted.values.dims, static_cast<int64_t>(i)),
                        shown(value), shown(right), tolerance);
    }
  }
  result.passed = numWrong == 0;
  if (numWrong)
    result.message += fmt::format("; {} of {} elements are wrong", numWrong, numElements);
  return result;
}

} // namespace tkc::harness
