// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with its constants fixed: the workspace it needs and what it launches, in order. Branches are taken, loops
// unrolled, and every argument is a strided view of a parameter or of workspace.
#pragma once

#include "frontend/Sema.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tkc {

/// An expression of the program's scalar parameters and symbols, evaluated at launch.
struct ScalarExpr {
  enum Kind : uint8_t { Number, Name, Unary, Binary, Call } kind = Number;
  ElemType elem = ElemType::I32;
  double value = 0;         ///< Number; bool as 0, 1
  std::string name;         ///< Name: a scalar parameter or symbol; Call: `sqrt`, `min`, …
  ast::UnaryOp unaryOp{};   ///< Unary
  ast::BinaryOp binaryOp{}; ///< Binary; on integers `/` and `%` floor
  std::vector<ScalarExpr> operands;

  std::string str() const; ///< as in the source, parenthesised throughout
};

/// Elements `offset + Σ index[i] · strides[i]` of a parameter or of workspace. The last stride is 1.
/// Dims, strides and offset (in elements) are expressions of symbols, i32 scalar parameters, and the caller's strides
/// under the names that strideName gives.
struct TensorView {
  std::string tensor; ///< parameter or workspace
  ElemType elem = ElemType::F32;
  std::vector<ir::DimExpr> dims;
  std::vector<ir::DimExpr> strides;
  ir::DimExpr offset;
};
/// "x.stride0": how far apart, in elements, neighbours along a dim of a parameter are. The last dim has 1.
std::string strideName(const std::string &param, size_t dim);

/// `let part = new f32[splits, N] = 0;`: dense.
struct Workspace {
  std::string name; ///< unique in the program
  ElemType elem = ElemType::F32;
  std::vector<ir::DimExpr> dims;
  SourceLoc loc;
};

/// Sets every element of a view; what `new … = x` and `y = x;` become.
struct FillStep {
  TensorView view;
  ScalarExpr value;
  SourceLoc loc;
};

struct LaunchStep {
  const KernelInfo *kernel = nullptr;
  Specialization specialization;              ///< of the kernel
  std::map<std::string, TensorView> tensors;  ///< by the kernel's parameter; those left out are missing
  std::map<std::string, ScalarExpr> scalars;  ///< by the kernel's parameter
  std::map<std::string, ir::DimExpr> symbols; ///< the kernel's symbols in terms of the program's
  SourceLoc loc;
};
using ProgramStep = std::variant<FillStep, LaunchStep>;

/// Two expressions that have to agree at launch, for `message`'s reason.
struct ProgramCheck {
  ir::DimExpr lhs, rhs;
  std::string message; ///< "`x.view(B * N, C)` needs …"
  SourceLoc loc;
};

struct ProgramPlan {
  const ProgramInfo *program = nullptr;
  Specialization specialization;
  std::vector<ir::Param> params; ///< with the specialisation's element types, dims and presence
  std::vector<Workspace> workspaces;
  std::vector<ProgramStep> steps;
  std::vector<ProgramCheck> checks;
};

/// Checks a program and plans one specialisation of it. Null after errors.
std::unique_ptr<ProgramPlan> planProgram(const Module &module, const ProgramInfo &program,
                                         const Specialization &specialization, DiagnosticEngine &diagnostics);

/// Values of a plan's expressions; `names` holds symbols, scalar parameters and strides. Nullopt where a name is
/// missing or a division is by zero.
std::optional<int64_t> evaluateDim(const ir::DimExpr &dim, const std::map<std::string, int64_t> &names);
std::optional<double> evaluateScalar(const ScalarExpr &expr, const std::map<std::string, double> &names);

/// For people and tests: one line a workspace, fill, launch and check.
std::string print(const ProgramPlan &plan);

} // namespace tkc
