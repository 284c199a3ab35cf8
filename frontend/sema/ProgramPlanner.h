// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans one specialisation of a program: walks its statements once, taking branches and unrolling loops. Views are in
// ProgramViews.cpp, launches in ProgramLaunches.cpp.
#pragma once

#include "frontend/Program.h"
#include "frontend/sema/Polynomial.h"
#include "frontend/sema/Report.h"
#include "frontend/sema/Val.h"

#include <set>

namespace tkc::sema {

class ProgramPlanner {
public:
  ProgramPlanner(const Module &module, const ProgramInfo &program, const Specialization &specialization,
                 DiagnosticEngine &diagnostics);

  std::unique_ptr<ProgramPlan> run();

  /// What an expression of a program means.
  struct Arg {
    enum Kind : uint8_t { Error, Scalar, Tensor, None } kind = Error;
    ScalarExpr scalar;
    TensorView view;
  };

private:
  static Arg ofScalar(ScalarExpr scalar) { return {Arg::Scalar, std::move(scalar), {}}; }
  static Arg ofTensor(TensorView view) { return {Arg::Tensor, {}, std::move(view)}; }
  using Scope = std::map<std::string, Arg>;

  // ---- statements (Programs.cpp)
  void addParams();
  void addFacts();
  void block(const ast::BlockStmt &block);
  void statement(const ast::Stmt *stmt);
  void let(const ast::LetStmt &stmt);
  void assign(const ast::AssignStmt &stmt);
  void ifStatement(const ast::IfStmt &stmt);
  void forStatement(const ast::ForStmt &stmt);
  void checkOutputs();
  std::optional<int64_t> constant(const ast::Expr *expr, std::string_view what);

  // ---- expressions (ProgramExprs.cpp)
  Arg expr(const ast::Expr *expr);
  Arg name(const ast::NameExpr &name);
  Arg unary(const ast::UnaryExpr &unary);
  Arg binary(const ast::BinaryExpr &binary);
  Arg call(const ast::CallExpr &call);
  Arg noneTest(const ast::BinaryExpr &binary);
  /// An integer expression as a dim, or nullopt after an error.
  std::optional<ir::DimExpr> dim(const ast::Expr *expr);
  static std::optional<ir::DimExpr> toDim(const ScalarExpr &scalar);
  static Val toConst(const ScalarExpr &scalar);
  std::vector<std::string> visibleNames() const;
  /// Whether calls of this specialisation say what a dim is. Reports where not.
  bool isKnown(const std::string &symbol, SourceRange use);

  // ---- views (ProgramViews.cpp)
  std::optional<TensorView> newTensor(const ast::NewExpr &expr, const std::string &name);
  Arg slice(const ast::IndexExpr &expr);
  Arg method(const ast::CallExpr &call, const ast::MemberExpr &callee);
  Arg order(const ast::CallExpr &call, const TensorView &from);
  Arg view(const ast::CallExpr &call, const TensorView &from);
  bool regroup(const TensorView &from, TensorView &to, const ast::CallExpr &call);
  void requireDense(const TensorView &from, TensorView &to, const ast::CallExpr &call);
  static std::vector<ir::DimExpr> denseStrides(const std::vector<ir::DimExpr> &dims);
  bool isEqual(const ir::DimExpr &a, const ir::DimExpr &b) const;
  /// Agreement at launch, unless it is known now; false where it cannot be.
  bool require(const ir::DimExpr &a, const ir::DimExpr &b, SourceRange where, const std::string &message);

  // ---- launches (ProgramLaunches.cpp)
  void launch(const ast::CallExpr &call);
  struct Binding {
    const KernelInfo *kernel;
    LaunchStep step;
    std::map<std::string, ElemType> typeArgs;
    std::map<std::string, const ast::Expr *> given; ///< by parameter or type parameter
    SourceRange call;
  };
  bool placeArgs(Binding &binding, const ast::CallExpr &call);
  void bindTypeArgs(Binding &binding);
  bool bindTensor(Binding &binding, const ir::Param &param);
  bool bindDims(Binding &binding, const ir::Param &param, const TensorView &view);
  bool bindScalar(Binding &binding, const ir::Param &param);
  bool checkDims(Binding &binding);
  bool specialize(Binding &binding);
  bool checkAccess(const ir::Param &param, const TensorView &view, SourceRange where);

  const ir::Param *findParam(const std::string &name) const;

  const Module &module;
  const ProgramInfo &program;
  const Specialization &specialization;
  Reporter reporter;
  std::unique_ptr<ProgramPlan> plan;
  std::vector<Scope> scopes;
  std::map<std::string, int64_t> knownDims;
  std::vector<std::pair<std::string, Polynomial>> equalities; ///< `where C == H * D`
  std::set<std::string> written;
};

} // namespace tkc::sema
