// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of a .tk file: what was written, where, and nothing that had to be worked out.
// Nodes live in an Arena and are freed together; pointers into it are plain. A node's kind is its first field, and
// llvm::isa/cast/dyn_cast work through classof.
#pragma once

#include "support/ElemType.h"
#include "support/Source.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tkc::ast {

/// Owns nodes of any type until it dies.
class Arena {
public:
  template <class Node, class... Args> Node *make(Args &&...args) {
    auto node = std::make_shared<Node>(std::forward<Args>(args)...);
    Node *pointer = node.get();
    nodes.push_back(std::move(node));
    return pointer;
  }

private:
  std::deque<std::shared_ptr<void>> nodes;
};

struct Identifier {
  std::string text;
  SourceRange range;
};

// ---- expressions ---------------------------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  Error, ///< stands where the parser recovered; absorbs what follows from it
  Number,
  Bool,
  String,
  None,
  Name,
  Unary,
  Binary,
  Call,
  Index,
  Member,
  Else,
  If,
  Reduction,
  New,
  List,
  Range,
};

struct Expr {
  ExprKind kind;
  SourceRange range;

protected:
  explicit Expr(ExprKind kind) : kind(kind) {}
};

template <ExprKind K> struct ExprOf : Expr {
  ExprOf() : Expr(K) {}
  static bool classof(const Expr *expr) { return expr->kind == K; }
};

struct ErrorExpr : ExprOf<ExprKind::Error> {};

/// `3`, `0x1f`, `1.5`, `1e-5`. `isFloat` by spelling; `inf PI LOG2E LN2` are Names.
struct NumberExpr : ExprOf<ExprKind::Number> {
  bool isFloat = false;
  int64_t integer = 0;
  double value = 0; ///< also set for integers
};
struct BoolExpr : ExprOf<ExprKind::Bool> {
  bool value = false;
};
struct StringExpr : ExprOf<ExprKind::String> {
  std::string value;
};
/// `none`
struct NoneExpr : ExprOf<ExprKind::None> {};
struct NameExpr : ExprOf<ExprKind::Name> {
  std::string name;
};

enum class UnaryOp : uint8_t { Neg, BitNot, Not };
struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op;
  SourceRange opRange;
  Expr *operand;
};

enum class BinaryOp : uint8_t {
  MatMul,
  Mul,
  Div,
  Mod,
  Add,
  Sub,
  Shl,
  Shr,
  BitAnd,
  BitXor,
  BitOr,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or
};
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);
struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op;
  SourceRange opRange;
  Expr *lhs;
  Expr *rhs;
};

/// An argument, by place or by name (`seed = 7`).
struct Argument {
  Identifier name; ///< empty text: by place
  Expr *value;
};
/// `f(x)`, `bf16(x)`, `zeros(r, c)`; also method calls, whose callee is a MemberExpr (`x.view(a, b)`).
struct CallExpr : ExprOf<ExprKind::Call> {
  Expr *callee;
  std::vector<Argument> args;
};

/// One index of a slice: `i`, `:`, or `lo:hi`.
struct Subscript {
  enum Kind : uint8_t { Element, All, Span } kind = Element;
  SourceRange range;
  Expr *first = nullptr;  ///< Element: the index; Span: lo
  Expr *second = nullptr; ///< Span: hi
};
struct IndexExpr : ExprOf<ExprKind::Index> {
  Expr *base;
  std::vector<Subscript> subscripts;
};
/// `x.T`, `t.row`, `t.begin`
struct MemberExpr : ExprOf<ExprKind::Member> {
  Expr *base;
  Identifier member;
};
/// `slice else value`
struct ElseExpr : ExprOf<ExprKind::Else> {
  Expr *slice;
  Expr *otherwise;
};
/// References only: `if c then a else b`
struct IfExpr : ExprOf<ExprKind::If> {
  Expr *condition;
  Expr *thenValue;
  Expr *elseValue;
};
/// References only: `sum(k, e)`, `sum(j in lo..hi, e)`, several binders: `sum(i, j, e)`.
/// The parser makes it where the callee is sum/max/min/prod inside a reference (or case) and the first argument is a
/// bare name or a binder and at least one more argument follows; sema decides `max(a, b)` from `max(i, e)` by whether
/// the name is bound.
struct IndexBinder {
  Identifier name;
  Expr *lo = nullptr; ///< null: the range of the dim in which the index stands
  Expr *hi = nullptr;
};
struct ReductionExpr : ExprOf<ExprKind::Reduction> {
  Identifier op;
  std::vector<IndexBinder> binders;
  Expr *body;
};
/// Programs: `new f32[B, N] = 0`
struct NewExpr : ExprOf<ExprKind::New> {
  Identifier type;
  std::vector<Expr *> dims;
  Expr *fill = nullptr;
};
/// `[1, 2, 3]` in a case; `{64, 128}` in a where clause or a type set.
struct ListExpr : ExprOf<ExprKind::List> {
  std::vector<Expr *> elements;
};
/// `lo..hi`; `tiles(...)` stays a CallExpr.
struct RangeExpr : ExprOf<ExprKind::Range> {
  Expr *lo;
  Expr *hi;
};

// ---- statements ----------------------------------------------------------------------------------------------------

enum class StmtKind : uint8_t { Error, Block, Tune, Parallel, For, If, Let, Var, Assign, Return, Expr };

struct Stmt {
  StmtKind kind;
  SourceRange range;

protected:
  explicit Stmt(StmtKind kind) : kind(kind) {}
};

template <StmtKind K> struct StmtOf : Stmt {
  StmtOf() : Stmt(K) {}
  static bool classof(const Stmt *stmt) { return stmt->kind == K; }
};

struct ErrorStmt : StmtOf<StmtKind::Error> {};
struct BlockStmt : StmtOf<StmtKind::Block> {
  std::vector<Stmt *> stmts;
};

/// `tune BM = 128, BN = 256;`
struct TuneStmt : StmtOf<StmtKind::Tune> {
  std::vector<std::pair<Identifier, Expr *>> values;
};
/// `m in tiles(M, BM)`; `range` is a RangeExpr or a CallExpr of `tiles`.
struct Binding {
  Identifier name;
  Expr *range;
};
struct ParallelStmt : StmtOf<StmtKind::Parallel> {
  std::vector<Binding> bindings;
  BlockStmt *body;
};
struct ForStmt : StmtOf<StmtKind::For> {
  Binding binding;
  BlockStmt *body;
};
struct IfStmt : StmtOf<StmtKind::If> {
  Expr *condition;
  BlockStmt *thenBlock;
  Stmt *elseStmt = nullptr; ///< a BlockStmt, an IfStmt, or null
};
/// `let a, b = e;`
struct LetStmt : StmtOf<StmtKind::Let> {
  std::vector<Identifier> names;
  Expr *value;
};
struct VarStmt : StmtOf<StmtKind::Var> {
  std::vector<Identifier> names;
  Expr *value;
};
enum class AssignOp : uint8_t { Set, Add, Sub, Mul, Div, Max, Min };
std::string_view spelling(AssignOp op);
/// `x = e;` on a var, `c[m, n] = e;` on a slice. `-= *= /=` are for vars only.
struct AssignStmt : StmtOf<StmtKind::Assign> {
  AssignOp op;
  SourceRange opRange;
  Expr *target; ///< NameExpr or IndexExpr
  Expr *value;
};
struct ReturnStmt : StmtOf<StmtKind::Return> {
  std::vector<Expr *> values;
};
/// Programs: a call.
struct ExprStmt : StmtOf<StmtKind::Expr> {
  Expr *expr;
};

// ---- declarations --------------------------------------------------------------------------------------------------

enum class DeclKind : uint8_t { Import, Kernel, Fn, ExternFn, Reference, Case, Schedule, Gradient, Program };

struct Decl {
  DeclKind kind;
  SourceRange range;
  Identifier name; ///< of what is declared or, for reference, case, schedule and gradient, of what it is about
  std::string doc; ///< the `///` lines above, without the slashes

protected:
  explicit Decl(DeclKind kind) : kind(kind) {}
};

template <DeclKind K> struct DeclOf : Decl {
  DeclOf() : Decl(K) {}
  static bool classof(const Decl *decl) { return decl->kind == K; }
};

/// `<T: {bf16, f16}>`
struct TypeParam {
  Identifier name;
  std::vector<Identifier> choices;
};

enum class ParamMode : uint8_t { In, Out, InOut };
/// `a: T[M, K]`, `scale: f32`, `const causal: bool = false`, `bias: f32[N] = none`
struct Param {
  Identifier name;
  ParamMode mode = ParamMode::In;
  bool isConst = false;
  Identifier type;       ///< an element type or a type parameter
  bool isTensor = false; ///< with dims; `f32[]` is not allowed
  std::vector<Expr *> dims;
  Expr *defaultValue = nullptr;
  SourceRange range;
};

/// `import "x.tk";`
struct ImportDecl : DeclOf<DeclKind::Import> {
  std::string path;
  SourceRange pathRange;
};
struct KernelDecl : DeclOf<DeclKind::Kernel> {
  std::vector<TypeParam> typeParams;
  std::vector<Param> params;
  std::vector<Expr *> where;                                       ///< conditions that the launcher checks
  std::vector<std::pair<Identifier, std::vector<Expr *>>> whereIn; ///< `D in {64, 128}`
  BlockStmt *body;
};
struct ProgramDecl : DeclOf<DeclKind::Program> {
  std::vector<TypeParam> typeParams;
  std::vector<Param> params;
  std::vector<Expr *> where;
  std::vector<std::pair<Identifier, std::vector<Expr *>>> whereIn;
  BlockStmt *body;
};
/// `fn f(x) = …;` has a body of one ReturnStmt.
struct FnDecl : DeclOf<DeclKind::Fn> {
  std::vector<Identifier> params;
  BlockStmt *body;
};
/// `extern cuda "act.cuh" fn my_act(x: f32) -> f32;`
struct ExternFnDecl : DeclOf<DeclKind::ExternFn> {
  Identifier language; ///< cuda or hip
  std::string header;
  SourceRange headerRange;
  std::vector<Param> params;
  Identifier resultType;
};
/// One equation `name[i, j] = e;` (no indices: a scalar).
struct Equation {
  Identifier name;
  std::vector<IndexBinder> indices; ///< `o[i in 0..N]` may give the range
  Expr *value;
  SourceRange range;
};
struct ReferenceDecl : DeclOf<DeclKind::Reference> {
  std::vector<Equation> equations;
};
/// `T = bf16; M = 256; q = normal(seed = 7); f[i, j] = cos(i * j); tolerance = 1e-2;`
struct CaseDecl : DeclOf<DeclKind::Case> {
  bool isBench = false; ///< `bench`: to be timed, and not compared with the reference
  std::vector<Equation> settings;
};
/// By name.
using Functions = std::map<std::string, const FnDecl *>;

/// `schedule attn_fwd for sm_90a when D == 128 cost ceildiv(N, 128) { BM = 128; … }`
struct ScheduleDecl : DeclOf<DeclKind::Schedule> {
  Identifier arch;
  Expr *when = nullptr;
  Expr *cost = nullptr; ///< of several that have one, the cheapest is taken
  /// The cost as it is written, and the functions that it may call: sema inlines them in `cost`.
  Expr *writtenCost = nullptr;
  const Functions *functions = nullptr;
  std::vector<std::pair<Identifier, Expr *>> settings;
};
/// `gradient attn_fwd = attn_bwd(q, o, grad(o), grad(q)) when G == H;`
struct GradientDecl : DeclOf<DeclKind::Gradient> {
  Expr *call;
  Expr *when = nullptr;
};

/// Of conditions and costs: the operands of operators and the arguments of calls, in order. Other expressions have
/// none.
std::vector<const Expr *> operandsOf(const Expr &expr);
/// Whether a condition of `where` or `when` names `name`.
bool mentions(const Expr &condition, const std::string &name);

/// A parsed file. Comments are kept for the formatter.
struct Comment {
  SourceRange range;
  bool ownLine; ///< nothing but space before it on its line
};
struct File {
  uint32_t buffer = 0;
  std::vector<Decl *> decls;
  std::vector<Comment> comments;
  std::shared_ptr<Arena> arena;
};

} // namespace tkc::ast
