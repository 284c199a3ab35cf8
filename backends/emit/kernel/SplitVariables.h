// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::cuda {

/// The role with variables that live in one part of a pipelined loop at a time (prologue, body, epilogue) made into one
/// variable a part, so that each can be declared where it is assigned. The new names are "NAME@part".
plan::Role splitVariables(plan::Role role);

/// "s@body" → "s": parts are different scopes of the emitted code.
std::string_view withoutPart(std::string_view var);

} // namespace tkc::cuda
