// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elaborates one specialisation of a kernel: walks the syntax once, evaluating what is known when compiling and making
// tile IR of the rest. Each family of syntax is a file: Statements, Loops, Expressions, Arithmetic, MatMul, Scaled,
// Slices, Memory, Calls, Reductions, Functions.
#pragma once

#include "frontend/Sema.h"
#include "frontend/sema/Bounds.h"
#include "frontend/sema/Report.h"
#include "frontend/sema/Val.h"

#include <deque>

namespace tkc::sema {

class Elaborator {
public:
  Elaborator(const Module &module, const KernelInfo &kernel, const Specialization &specialization,
             const std::map<std::string, int64_t> &tunes, const std::vector<const ast::Expr *> &promised,
             DiagnosticEngine &diagnostics);

  /// Null after errors.
  std::unique_ptr<ir::Function> run();

private:
  // ---- names (Scopes.cpp) ----
  struct Variable {
    std::string name;
    SourceRange declared;
    Val val;
    bool isVar = false;
    ir::Type declaredType;    ///< of a var: element type and shape stay these
    SourceRange lastAssigned; ///< of a var
  };
  using VariableId = size_t;
  using Scope = std::map<std::string, VariableId>;

  VariableId define(const ast::Identifier &name, Val val, bool isVar = false);
  std::optional<VariableId> findVariable(const std::string &name) const;
  Val lookup(const ast::NameExpr &name);
  std::vector<std::string> visibleNames() const;
  /// Whether calls of this specialisation say what a dim is. Reports where not.
  bool isKnown(const std::string &symbol, SourceRange use);
  /// The values of all variables, to go back to.
  std::vector<Val> snapshot() const;
  void restore(const std::vector<Val> &values);
  /// Element types and type parameters.
  std::optional<ElemType> findType(const std::string &name) const;

  // ---- set-up (Elaborate.cpp) ----
  void addConstants();
  void addParams();
  void addFacts();
  void addMultiple(const ast::BinaryExpr &comparison, const ir::DimExpr &lhs, const ir::DimExpr &rhs);

  // ---- statements (Statements.cpp, Loops.cpp) ----
  void block(const ast::BlockStmt &block);
  void statement(const ast::Stmt *stmt);
  void let(const std::vector<ast::Identifier> &names, const ast::Expr *value, bool isVar);
  void tune(const ast::TuneStmt &stmt);
  void newMemory(const std::vector<ast::Identifier> &names, const ast::NewExpr &expr, bool isVar);
  int64_t sizeOfMemory(const ast::Expr *dim);
  void assign(const ast::AssignStmt &stmt);
  void assignToFixed(const ast::NameExpr &name, std::optional<VariableId> variable);
  Val updated(const ast::AssignStmt &stmt, const Val &old);
  void assignVariable(Variable &variable, Val val, const ast::AssignStmt &stmt);
  void ifStatement(const ast::IfStmt &stmt);
  void runtimeIf(const ast::IfStmt &stmt, ir::Value *condition);
  void returnStatement(const ast::ReturnStmt &stmt);
  void parallel(const ast::ParallelStmt &stmt);
  void parallelBinding(const ast::ParallelStmt &stmt, size_t index);
  void forStatement(const ast::ForStmt &stmt);

  struct Range {
    ir::Value *lo, *hi;
    int64_t tileSize; ///< 0: integers
  };
  std::optional<Range> range(const ast::Expr *expr);
  /// The induction variable's name must not be a parameter's.
  void checkIndexName(const ast::Identifier &name);
  struct Carried {
    VariableId id;
    ir::Type type;
  };
  /// One try at a loop with these carried types. Returns false, with `carried` put right and the loop taken back, when
  /// the body showed that a type ends earlier or that a variable is not assigned after all.
  bool tryLoop(const ast::ForStmt &stmt, const Range &range, std::vector<Carried> &carried);
  std::vector<VariableId> assignedIn(const ast::Stmt &body) const;

  // ---- expressions (Expressions.cpp) ----
  Val expr(const ast::Expr *expr);
  Val exprAt(const ast::Expr *expr);
  Val member(const ast::MemberExpr &expr);
  Val elseExpr(const ast::ElseExpr &expr);
  std::optional<int64_t> constantInteger(const ast::Expr *expr, std::string_view what);
  bool isNoneTest(const ast::BinaryExpr &expr) const;
  Val noneTest(const ast::BinaryExpr &expr);
  std::optional<ElemType> typeOperand(const ast::Expr *expr) const;

  // ---- conversions (Conversions.cpp) ----
  /// As an SSA value of a scalar, vector or tile, or null after an error.
  ir::Value *toValue(const Val &val, SourceRange where);
  /// The same, converted to `elem`.
  ir::Value *toElem(const Val &val, ElemType elem, SourceRange where);
  /// A scalar, from a scalar, a constant or a [1, 1] tile.
  ir::Value *toScalar(const Val &val, SourceRange where, std::string_view what);
  ir::Value *toInteger(const Val &val, SourceRange where, std::string_view what);
  /// A tile, from a tile or a scalar.
  ir::Value *toTile(const Val &val, SourceRange where);
  Val cast(ElemType elem, const Val &val, SourceRange where);
  /// A tensor, a tuple or a tile index is no operand; says so.
  bool isOperand(const Val &val, SourceRange where);

  // ---- arithmetic (Arithmetic.cpp, MatMul.cpp) ----
  Val unary(const ast::UnaryExpr &expr);
  Val binary(const ast::BinaryExpr &expr);
  struct Operands {
    Val lhs, rhs;
    SourceRange opRange, lhsRange, rhsRange;
  };
  Val combine(ast::BinaryOp op, const Operands &operands);
  Val moveTileIndex(ast::BinaryOp op, const Operands &operands);
  // Scaled.cpp
  Val divideTileIndex(const Operands &operands);
  bool isMultipleDim(const ir::DimExpr &dim, int64_t of) const;
  bool hasWholeAxis(const ir::Type &type, int axis, SourceRange where);
  bool checkScaledOperands(const Val &left, const Val &right, const ast::BinaryExpr &expr);
  Val elementwise(ir::OpKind kind, std::string_view spelling, ElemType elem, const Operands &operands);
  std::optional<ElemType> operandType(ast::BinaryOp op, const Operands &operands);
  /// Reports why two types do not broadcast, if they don't.
  bool checkBroadcast(const ir::Type &lhs, const ir::Type &rhs, std::string_view op, const Operands &operands);
  Val minMax(ir::OpKind kind, std::string_view spelling, const Operands &operands);
  Val matmul(const ast::BinaryExpr &expr);
  /// `accumulator + a @ b`, as one product where the types allow.
  Val matmul(const ast::BinaryExpr &expr, const Val &accumulator, SourceRange accumulatorRange, SourceRange plus);
  bool checkMatMulTypes(ElemType lhs, ElemType rhs, const ast::BinaryExpr &expr);
  void noteDeclaredDims(Reported &reported, const ast::Expr *expr, const ir::Type &type);

  // ---- slices and memory (Slices.cpp, Memory.cpp) ----
  struct Slice {
    const ir::Param *param;
    ir::View view;
    std::vector<ir::Value *> operands;
    ir::Type type;
    bool isAbsent = false;
    bool hasGather = false;
    /// The slice is a vector because an index along axis 0 (a column) or 1 (a row) has one element: it is one row, or
    /// one column, of what tiles of other sizes would make.
    std::optional<int> singleAxis;
    SourceRange mayLeave; ///< the index that may leave the tensor because its tile was moved; invalid: none
    std::string leaving;  ///< what range analysis could not show, for the message
  };
  std::optional<Slice> slice(const ast::IndexExpr &expr);
  void sliceHasNoType(const Slice &slice, const ast::IndexExpr &expr);
  bool addSubscript(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim, size_t position);
  bool addElementSubscript(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim, size_t position);
  bool addSpan(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim);
  void checkTileBounds(Slice &slice, const ast::Subscript &subscript, ir::Value *tileIndex, const ir::DimExpr &dim,
                       size_t position);
  bool checkDividedTile(const Slice &slice, const ast::Subscript &subscript, const Val &index, const ir::DimExpr &dim,
                        size_t position);
  bool checkPacked(const Slice &slice, const ast::Subscript &subscript, const ir::ViewIndex &index);
  Val load(const ast::IndexExpr &expr, const ast::Expr *otherwise);
  void store(const ast::AssignStmt &stmt);
  void atomic(const ast::AssignStmt &stmt, const Slice &slice);
  ir::Value *storedValue(const Val &val, const Slice &slice, SourceRange where);
  bool canWrite(const Slice &slice, const ast::AssignStmt &stmt);
  ir::Value *toScalarOf(const Val &val, ElemType elem, SourceRange where);
  bool checkStorable(ElemType from, ElemType to, SourceRange where, const std::string &tensor);

  // ---- calls (Calls.cpp, Reductions.cpp, Functions.cpp) ----
  Val call(const ast::CallExpr &expr);
  struct Args {
    std::string_view name; ///< of what is called
    SourceRange range;     ///< of the call
    std::vector<Val> vals; ///< in the order of the parameters
    std::vector<SourceRange> ranges;
  };
  struct BuiltIn {
    std::string_view name;
    std::vector<std::string_view> params; ///< empty: two or more, by place
    Val (Elaborator::*handler)(const Args &args);
  };
  static const std::vector<BuiltIn> &builtIns();
  Val callBuiltIn(const BuiltIn &builtIn, const ast::CallExpr &expr);
  /// Arguments by place, then by name; nullopt after an error.
  std::optional<std::vector<const ast::Expr *>>
  placeArgs(const ast::CallExpr &expr, const std::vector<std::string_view> &params, std::string_view name);
  Val unaryFunction(const Args &args);
  Val absolute(const Args &args);
  Val zeros(const Args &args);
  Val full(const Args &args);
  Val iota(const Args &args);
  Val where(const Args &args);
  Val minMaxCall(const Args &args);
  Val philox(const Args &args);
  Val scaled(const Args &args);
  Val reduction(const Args &args);
  Val cumsum(const Args &args);
  /// The sum over the elements that exist, divided by how many these are.
  ir::Value *meanOf(ir::Value *sum, const ir::Type &reduced, int axis);
  std::optional<int64_t> tileSize(const Val &val, SourceRange where);
  Val callFunction(const ast::FnDecl &fn, const ast::CallExpr &expr);
  Val callExtern(const ast::ExternFnDecl &fn, const ast::CallExpr &expr);
  std::vector<std::string> functionNames() const;
  bool isKnownFunction(const ast::CallExpr &call) const;

  // ---- after elaboration (Writes.cpp) ----
  void checkWrites();
  void checkDisjointStores(const ir::Op &parallel);

  template <class... Args> Reported error(Diag id, SourceRange where, const Args &...args);

  const Module &module;
  const KernelInfo &kernel;
  const Specialization &specialization;
  const std::map<std::string, int64_t> &tunes;
  const std::vector<const ast::Expr *> &promised;
  Reporter reporter;
  std::unique_ptr<ir::Function> function;
  ir::Builder builder;
  Bounds bounds;

  std::map<std::string, int64_t> knownDims; ///< symbols and constants in dims that are numbers here
  std::deque<Variable> variables;           ///< references stay good while functions are inlined
  std::vector<Scope> scopes;
  const ast::ParallelStmt *parallelSeen = nullptr;
  bool inParallel = false;
  std::set<std::string> written; ///< tensors that something stored to, in the order of the text

  // Functions being inlined.
  struct Inlining {
    const ast::FnDecl *fn;
    SourceRange call;
    int runtimeDepth; ///< of the call
    std::optional<Val> result;
  };
  std::vector<Inlining> inlining;
  size_t numInlined = 0; ///< calls in all, so that functions that double at each level come to an end
  int runtimeDepth = 0;  ///< loops and branches around that are decided at run time
};

template <class... Args> Reported Elaborator::error(Diag id, SourceRange where, const Args &...args) {
  Reported reported = reporter.error(id, where, args...);
  for (auto frame = inlining.rbegin(); frame != inlining.rend(); ++frame)
    reported.note(Diag::note_called_here, frame->call, frame->fn->name.text);
  return reported;
}

} // namespace tkc::sema
