// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/reference/Reference.h"

#include "frontend/reference/Model.h"
#include "support/Diagnostics.h"
#include "support/Tensor.h"

namespace tkc {

std::map<std::string, Tensor> evaluateReference(const ReferenceInput &input, DiagnosticEngine &diagnostics,
                                                const ErrorModel *errorModel, std::map<std::string, Tensor> *errors) {
  reference::Model model;
  if (!reference::compile(input, input.reference->equations, model, diagnostics))
    return {};
  std::vector<int> outputs;
  for (const std::string &output : input.outputs) {
    int found = -1;
    for (const reference::CompiledEquation &equation : model.equations)
      if (equation.source->name.text == output)
        found = equation.tensor;
    if (found < 0) {
      diagnostics.report(Diag::reference_lacks_output, input.reference->name.range, output);
      return {};
    }
    outputs.push_back(found);
  }
  if (!reference::run(model, outputs, errorModel, diagnostics))
    return {};
  std::map<std::string, Tensor> results;
  for (int output : outputs) {
    reference::TensorSlot &slot = *model.tensors[output];
    results[slot.name] = {slot.isInteger ? ElemType::I64 : ElemType::F64, slot.dims, std::move(slot.ownData),
                          std::move(slot.ownIntegers)};
    if (errors)
      (*errors)[slot.name] = {ElemType::F64, slot.dims, std::move(slot.ownError)};
  }
  return results;
}

} // namespace tkc
