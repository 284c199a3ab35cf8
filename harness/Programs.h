// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program's launches one after another on the interpreter.
#pragma once

#include "frontend/Program.h"
#include "ir/interpreter/Interpreter.h"

#include <functional>
#include <vector>

namespace tkc::harness {

std::vector<const LaunchStep *> launchesOf(const ProgramPlan &plan);
/// Element types in which launches leave values for others.
std::vector<ElemType> workspaceTypes(const ProgramPlan &plan);

/// Dims and scalars with which a program that is called with `arguments` calls a kernel; no tensors.
CallArguments callOf(const LaunchStep &launch, const CallArguments &arguments);

/// The tile IR of a launch's kernel; null after errors were reported.
using FunctionFor = std::function<const ir::Function *(const LaunchStep &)>;

/// Updates the outputs in `arguments`. A view is copied into a tensor of its own before a launch and back after it.
std::optional<ir::RuntimeError> runProgram(const ProgramPlan &plan, const FunctionFor &functionFor,
                                           CallArguments &arguments, const ir::InterpretOptions &options = {});

} // namespace tkc::harness
