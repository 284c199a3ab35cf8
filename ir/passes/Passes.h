// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes over tile IR: functions from a sound function to a sound function that the interpreter cannot tell apart
// beyond rounding.
#pragma once

#include <span>
#include <string_view>

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tkc::ir {

class Function;
class Op;

#define TKC_PASS(name, function, summary) void function(Function &);
#include "ir/passes/Passes.def"

/// lower-scales for some of the products.
void lowerScales(Function &function, llvm::function_ref<bool(const Op &)> isWanted);
/// turn-products for some of the products.
void turnProducts(Function &function, llvm::function_ref<bool(const Op &)> isWanted);

struct PassInfo {
  std::string_view name;
  void (*run)(Function &);
  std::string_view summary;
};
/// In the order of Passes.def.
std::span<const PassInfo> allPasses();
/// Null where there is none of this name.
const PassInfo *findPass(std::string_view name);

} // namespace tkc::ir
