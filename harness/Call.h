// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call as it comes from outside: bound to a signature, checked, and refused in the words of an emitted launcher.
#pragma once

#include "frontend/Sema.h"
#include "harness/Cases.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tkc {
class SourceManager;
}

namespace tkc::harness {

struct OpenCall {
  std::map<std::string, Tensor> tensors; ///< by parameter; without data where it is not known yet
  std::map<std::string, Number> numbers; ///< scalars and consts
  bool makesOutputs = false;             ///< each `out` that has to be there and is not has the declared dims
};

/// From the text of a call that nobody makes: "gemm(a = bf16[128, 64], b = bf16[64, 256], s = 0.5)".
struct NamedCall {
  std::string name;
  OpenCall call;
};
/// Nothing where it is not of this form.
std::optional<NamedCall> parseCall(std::string_view text);

/// The call with its symbols, types and specialisation, or why it is none.
struct BoundCall {
  PreparedCase prepared;
  std::string refusal; ///< empty: it is right
};
BoundCall bindCall(const Signature &signature, OpenCall call, const SourceManager &sources);

} // namespace tkc::harness
