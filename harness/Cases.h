// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a `case` to the arguments of a call: dims and constants, which specialisation they mean, and inputs.
#pragma once

#include "frontend/Sema.h"
#include "support/Tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tkc::harness {

/// How a tensor lies in the memory of a device: `normal(pad = 8, order = [0, 2, 1, 3])`. The interpreter, whose tensors
/// are dense, takes no notice.
struct Layout {
  int64_t pad = 0;          ///< elements between the end of a row and the next row
  std::vector<int> order{}; ///< dims from the outermost in memory to the last, which stays the last; empty: as they are
};

/// Everything a call needs.
struct PreparedCase {
  const Signature *signature = nullptr;
  const ast::CaseDecl *decl = nullptr;
  const ast::ReferenceDecl *reference = nullptr; ///< may be null
  std::string description;                       ///< "T=bf16 M=256 N=512 K=192"
  Specialization specialization;
  std::map<std::string, int64_t> tunes; ///< those that the case sets
  CallArguments arguments;              ///< inputs with their values; outputs with dims and no data
  std::map<std::string, ElemType> scalarTypes;
  std::map<std::string, Layout> layouts;
  std::map<std::string, uint64_t> seeds; ///< of the inputs that have no data
  std::optional<double> tolerance;
};

struct CaseOptions {
  uint64_t seed = 0;                     ///< makes the default inputs
  std::map<std::string, double> sizes{}; ///< dims, constants and scalars that beat what cases say
  /// Default inputs have no data: where the kernel runs, something random is made of them. They may be of any size.
  bool deviceMakesInputs = false;
};

/// A kernel or program with its cases.
struct Subject {
  const Signature *signature;
  const ast::ReferenceDecl *reference;
  const std::vector<const ast::CaseDecl *> *cases, *benches;
  const KernelInfo *kernel = nullptr; ///< or
  const ProgramInfo *program = nullptr;
};
/// Those that the main file declares, in its order, then imported ones that it has cases for, with these cases.
std::vector<Subject> subjectsOf(const Module &module);

/// Nothing after an error was reported. `decl` is a case of the subject, number `index` among them.
std::optional<PreparedCase> prepareCase(const Module &module, const Subject &subject, const ast::CaseDecl &decl,
                                        size_t index, const CaseOptions &options, DiagnosticEngine &diagnostics);

} // namespace tkc::harness
