// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index without a range takes that of the dim it stands alone in; an intermediate's dims are the ranges of its
// indices. So ranges spread from inputs and outputs through intermediates until nothing new is known. An index of an
// intermediate that stands alone in no dim then takes the range over which the intermediate is asked for, and ranges
// spread on from there. In the end all places of an index must agree, but for the indices of an output, whose dims say
// what there is to compute.
#include "frontend/reference/Model.h"

#include "frontend/reference/Evaluator.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::reference {
namespace {

/// lo..hi
struct Interval {
  int64_t lo, hi;
};

class RangeInference {
public:
  RangeInference(Model &model, DiagnosticEngine &diagnostics) : model(model), diagnostics(diagnostics) {}

  bool run() {
    const size_t errorsBefore = diagnostics.numErrors();
    do
      while (spread())
        ;
    while (takeUses());
    for (CompiledEquation &equation : model.equations)
      check(equation);
    return diagnostics.numErrors() == errorsBefore;
  }

private:
  static int variableAt(const Node &access, size_t d) {
    const Node *index = access.children[d];
    return index->kind == NodeKind::Variable ? index->variable : -1;
  }

  /// Calls `visit(variable, range, place)` for each dim of known size that an index stands alone in.
  template <class Visit> void forEachPlace(const CompiledEquation &equation, Visit visit) {
    const auto place = [&](const TensorSlot &tensor, size_t d, int variable, SourceRange range) {
      if (variable >= 0 && tensor.isKnown[d])
        visit(variable, Interval{tensor.origin[d], tensor.origin[d] + tensor.dims[d]}, range);
    };
    for (size_t d = 0; d < equation.numIndices; ++d)
      place(*model.tensors[equation.tensor], d, static_cast<int>(d), equation.source->name.range);
    for (const auto &node : equation.nodes)
      if (node->kind == NodeKind::Access)
        for (size_t d = 0; d < node->children.size(); ++d)
          place(*model.tensors[node->tensor], d, variableAt(*node, d), node->range);
  }

  /// One round. True when something new is known.
  bool spread() {
    bool changed = false;
    for (CompiledEquation &equation : model.equations) {
      for (size_t v = 0; v < equation.numIndices; ++v)
        changed |= takeWritten(equation, v);
      forEachPlace(equation, [&](int v, Interval interval, SourceRange) {
        Variable &variable = equation.variables[v];
        if (!variable.isWritten && !variable.isKnown)
          changed = set(variable, interval);
      });
      for (size_t d = 0; d < equation.numIndices; ++d)
        changed |= takeDim(equation, d);
    }
    return changed;
  }

  static bool set(Variable &variable, Interval interval) {
    variable.lo = interval.lo;
    variable.hi = std::max(interval.lo, interval.hi);
    return variable.isKnown = true;
  }

  bool takeWritten(CompiledEquation &equation, size_t v) {
    Variable &variable = equation.variables[v];
    if (!variable.isWritten || variable.isKnown || (equation.lo[v]->variables | equation.hi[v]->variables))
      return false;
    return set(variable, {evaluateInteger(model, *equation.lo[v]), evaluateInteger(model, *equation.hi[v])});
  }

  bool takeDim(CompiledEquation &equation, size_t d) {
    TensorSlot &tensor = *model.tensors[equation.tensor];
    const Variable &variable = equation.variables[d];
    if (tensor.isKnown[d] || !variable.isKnown)
      return false;
    tensor.origin[d] = variable.lo;
    tensor.dims[d] = variable.hi - variable.lo;
    return tensor.isKnown[d] = true;
  }

  /// The first index that no dim gives a range takes the one over which others ask for the intermediate.
  bool takeUses() {
    for (CompiledEquation &equation : model.equations)
      for (size_t d = 0; d < equation.numIndices; ++d)
        if (!equation.variables[d].isKnown && !equation.variables[d].isWritten)
          if (const std::optional<Interval> uses = usesOf(equation.tensor, d))
            return set(equation.variables[d], *uses);
    return false;
  }

  std::optional<Interval> usesOf(int tensor, size_t d) {
    std::optional<Interval> all;
    for (const CompiledEquation &equation : model.equations) {
      if (equation.tensor == tensor)
        continue;
      for (const auto &node : equation.nodes) {
        if (node->kind != NodeKind::Access || node->tensor != tensor || variableAt(*node, d) < 0)
          continue;
        const std::optional<Interval> here = intervalOf(equation, variableAt(*node, d));
        if (!here)
          continue;
        all = all ? Interval{std::min(all->lo, here->lo), std::max(all->hi, here->hi)} : *here;
      }
    }
    return all;
  }

  /// All the values that an index takes. Bounds of a reduction may depend on other indices and on inputs.
  std::optional<Interval> intervalOf(const CompiledEquation &equation, int v) {
    const Variable &variable = equation.variables[v];
    if (variable.isKnown)
      return Interval{variable.lo, variable.hi};
    for (const auto &node : equation.nodes)
      if (node->kind == NodeKind::Reduce && node->variable == v && node->children.size() == 3) {
        const std::optional<Interval> lo = valuesOf(equation, *node->children[1]);
        const std::optional<Interval> hi = valuesOf(equation, *node->children[2]);
        if (lo && hi)
          return Interval{lo->lo, std::max(lo->lo, hi->hi - 1)};
      }
    return std::nullopt;
  }

  /// The least and one past the greatest value of a bound, over all values of the indices in it.
  std::optional<Interval> valuesOf(const CompiledEquation &equation, const Node &bound) {
    if (!usesInputsOnly(bound))
      return std::nullopt;
    std::vector<int> free;
    int64_t count = 1;
    std::vector<int64_t> values(equation.variables.size());
    for (size_t v = 0; v < equation.variables.size(); ++v) {
      if (!(bound.variables >> v & 1))
        continue;
      const Variable &variable = equation.variables[v];
      if (!variable.isKnown || variable.hi == variable.lo)
        return std::nullopt;
      values[v] = variable.lo;
      free.push_back(static_cast<int>(v));
      count *= variable.hi - variable.lo;
      if (count > maxCombinations)
        return std::nullopt;
    }
    std::optional<Interval> result;
    for (int64_t i = 0; i < count; ++i) {
      if (const std::optional<int64_t> value = evaluateIntegerAt(model, bound, values))
        result = result ? Interval{std::min(result->lo, *value), std::max(result->hi, *value + 1)}
                        : Interval{*value, *value + 1};
      for (size_t f = free.size(); f-- > 0;) {
        const Variable &variable = equation.variables[free[f]];
        if (++values[free[f]] < variable.hi)
          break;
        values[free[f]] = variable.lo;
      }
    }
    return result;
  }

  bool usesInputsOnly(const Node &node) const {
    if (node.kind == NodeKind::Reduce || (node.kind == NodeKind::Access && model.tensors[node.tensor]->equation >= 0))
      return false;
    return std::all_of(node.children.begin(), node.children.end(),
                       [&](const Node *child) { return usesInputsOnly(*child); });
  }

  void check(CompiledEquation &equation) {
    const TensorSlot &own = *model.tensors[equation.tensor];
    for (size_t v = 0; v < equation.variables.size(); ++v) {
      const Variable &variable = equation.variables[v];
      const bool isBoundElsewhere = variable.isWritten && v >= equation.numIndices;
      if (!variable.isKnown && !isBoundElsewhere)
        diagnostics.report(Diag::reference_no_range, variable.range, variable.name);
    }
    std::vector<bool> said(equation.variables.size());
    forEachPlace(equation, [&](int v, Interval interval, SourceRange range) {
      const Variable &variable = equation.variables[v];
      const bool isIndex = static_cast<size_t>(v) < equation.numIndices;
      const bool isOwnDim = isIndex && range.begin == equation.source->name.range.begin;
      const bool isDecided = variable.isWritten || (isIndex && own.isOutput);
      if (said[v] || !variable.isKnown || (isDecided && !isOwnDim) ||
          (variable.lo == interval.lo && variable.hi == interval.hi))
        return;
      said[v] = true;
      diagnostics.report(Diag::reference_ranges_differ, range, variable.name,
                         fmt::format("{}..{}", interval.lo, interval.hi),
                         fmt::format("{}..{}", variable.lo, variable.hi));
    });
  }

  static constexpr int64_t maxCombinations = 1 << 20;

  Model &model;
  DiagnosticEngine &diagnostics;
};

} // namespace

bool inferRanges(Model &model, DiagnosticEngine &diagnostics) {
  if (!RangeInference(model, diagnostics).run())
    return false;
  for (auto &tensor : model.tensors)
    tensor->strides = rowMajorStrides(tensor->dims);
  return true;
}

std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  return strides;
}

} // namespace tkc::reference
