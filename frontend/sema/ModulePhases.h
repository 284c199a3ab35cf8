// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of loadModule, each in a file of its own.
#pragma once

#include "frontend/Sema.h"

namespace tkc::sema {

class Reporter;

/// Fills `module.files` with the file at `path`, what it imports, and schedule files after them.
/// Returns how many of the files come from imports and the main one.
size_t readFiles(const std::string &path, const std::vector<std::string> &scheduleFiles, SourceManager &sources,
                 Reporter &reporter, Module &module);

/// What callers see of a kernel or program.
Signature makeSignature(const ast::KernelDecl &decl, Reporter &reporter);
Signature makeSignature(const ast::ProgramDecl &decl, Reporter &reporter);

/// Checks that a reference defines every output and uses known names.
void checkReference(const ast::ReferenceDecl &reference, const Signature &signature, const Module &module,
                    Reporter &reporter);
/// Checks that a case gives every dim, constant and type, no name that is unknown, and no value that `where` excludes.
void checkCase(const ast::CaseDecl &decl, const Signature &signature, Reporter &reporter);
/// Checks a schedule's ARCH, settings' form and condition.
void checkSchedule(const ast::ScheduleDecl &decl, const Signature &signature, Reporter &reporter);
/// Checks the gradient's call and condition, and says what the call means; nullopt after errors.
std::optional<Gradient> checkGradient(const ast::GradientDecl &decl, const Signature &signature, const Module &module,
                                      Reporter &reporter);

/// Says that `name` is not known, with the nearest of `candidates`. `what` is "name", "kernel", "function", …
void reportUnknown(Reporter &reporter, std::string_view what, const std::string &name, SourceRange where,
                   const std::vector<std::string> &candidates);

/// Says how this language writes a call that another one has; false, and silent, where it knows no such call.
bool reportForeignCall(Reporter &reporter, const ast::CallExpr &call);

} // namespace tkc::sema
