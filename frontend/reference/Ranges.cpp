// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index without a range takes that of the dim it stands alone in; an intermediate's dims are the ranges of its
// indices. So ranges spread from inputs and outputs through intermediates until nothing new is known. Then all places
// of an index must agree.
#include "frontend/reference/Model.h"

#include "support/Diagnostics.h"

#include <fmt/format.h>

namespace tkc::reference {
namespace {

class RangeInference {
public:
  RangeInference(Model &model, DiagnosticEngine &diagnostics) : model(model), diagnostics(diagnostics) {}

  bool run() {
    const size_t errorsBefore = diagnostics.numErrors();
    while (spread())
      ;
    for (CompiledEquation &equation : model.equations)
      check(equation);
    return diagnostics.numErrors() == errorsBefore;
  }

private:
  /// Calls `visit(variable, lo, hi, range)` for each dim of a known tensor that an index stands alone in.
  template <class Visit> void forEachPlace(const CompiledEquation &equation, Visit visit) {
    const auto places = [&](const TensorSlot &tensor, auto variableAt, SourceRange range) {
      for (size_t d = 0; tensor.isKnown && d < tensor.dims.size(); ++d)
        if (const int variable = variableAt(d); variable >= 0)
          visit(variable, tensor.origin[d], tensor.origin[d] + tensor.dims[d], range);
    };
    places(*model.tensors[equation.tensor], [](size_t d) { return static_cast<int>(d); }, equation.source->name.range);
    for (const auto &node : equation.nodes)
      if (node->kind == NodeKind::Access)
        places(
            *model.tensors[node->tensor],
            [&](size_t d) {
              const Node *index = node->children[d];
              return index->kind == NodeKind::Variable ? index->variable : -1;
            },
            node->range);
  }

  /// One round. True when something new is known.
  bool spread() {
    bool changed = false;
    for (CompiledEquation &equation : model.equations) {
      for (size_t v = 0; v < equation.numIndices; ++v)
        changed |= takeWritten(equation, v);
      forEachPlace(equation, [&](int v, int64_t lo, int64_t hi, SourceRange) {
        Variable &variable = equation.variables[v];
        if (variable.isWritten || variable.isKnown)
          return;
        variable.lo = lo;
        variable.hi = hi;
        variable.isKnown = changed = true;
      });
      changed |= takeDims(equation);
    }
    return changed;
  }

  bool takeWritten(CompiledEquation &equation, size_t v) {
    Variable &variable = equation.variables[v];
    if (!variable.isWritten || variable.isKnown || (equation.lo[v]->variables | equation.hi[v]->variables))
      return false;
    variable.lo = evaluateInteger(model, *equation.lo[v]);
    variable.hi = std::max(variable.lo, evaluateInteger(model, *equation.hi[v]));
    return variable.isKnown = true;
  }

  /// The dims of what an equation defines, once all its indices have ranges.
  bool takeDims(CompiledEquation &equation) {
    TensorSlot &tensor = *model.tensors[equation.tensor];
    if (tensor.isKnown)
      return false;
    for (size_t v = 0; v < equation.numIndices; ++v)
      if (!equation.variables[v].isKnown)
        return false;
    for (size_t v = 0; v < equation.numIndices; ++v) {
      tensor.origin[v] = equation.variables[v].lo;
      tensor.dims[v] = equation.variables[v].hi - equation.variables[v].lo;
    }
    tensor.strides.assign(tensor.dims.size(), 1);
    for (size_t d = tensor.dims.size(); d-- > 1;)
      tensor.strides[d - 1] = tensor.strides[d] * tensor.dims[d];
    return tensor.isKnown = true;
  }

  void check(CompiledEquation &equation) {
    for (size_t v = 0; v < equation.variables.size(); ++v) {
      const Variable &variable = equation.variables[v];
      const bool isBoundElsewhere = variable.isWritten && v >= equation.numIndices;
      if (!variable.isKnown && !isBoundElsewhere)
        diagnostics.report(Diag::reference_no_range, variable.range, variable.name);
    }
    std::vector<bool> said(equation.variables.size());
    forEachPlace(equation, [&](int v, int64_t lo, int64_t hi, SourceRange range) {
      const Variable &variable = equation.variables[v];
      const bool isOwnDim = model.tensors[equation.tensor]->isKnown && static_cast<size_t>(v) < equation.numIndices &&
                            range.begin == equation.source->name.range.begin;
      if (said[v] || !variable.isKnown || (variable.isWritten && !isOwnDim) || (variable.lo == lo && variable.hi == hi))
        return;
      said[v] = true;
      diagnostics.report(Diag::reference_ranges_differ, range, variable.name, fmt::format("{}..{}", lo, hi),
                         fmt::format("{}..{}", variable.lo, variable.hi));
    });
  }

  Model &model;
  DiagnosticEngine &diagnostics;
};

} // namespace

bool inferRanges(Model &model, DiagnosticEngine &diagnostics) { return RangeInference(model, diagnostics).run(); }

} // namespace tkc::reference
