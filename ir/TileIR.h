// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile IR: SSA on tiles and index scalars with structured control flow and explicit memory effects. It knows shapes,
// element types and edges; nothing of threads, memory spaces or architectures. docs/architecture.md, "Three levels".
//
// A Function is one *specialisation* of a kernel: type parameters, `where D in {…}` dims, const parameters, tunes and
// the presence of optional tensors are all fixed, so every tile shape is a number. Functions of the source are already
// inlined.
#pragma once

#include "support/ElemType.h"
#include "support/Source.h"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tkc {
class DiagnosticEngine;
class SourceManager;
} // namespace tkc

namespace tkc::ir {

class Op;
class Value;
struct Block;

/// A larger number than any before.
uint64_t nextNumber();

/// Orders operations and values as they were made. What is collected by addresses would come out in another order at
/// every run, and with it what is emitted.
struct InOrder {
  template <class T> bool operator()(const T *a, const T *b) const { return (a ? a->number : 0) < (b ? b->number : 0); }
  template <class T, class U>
  bool operator()(const std::pair<const T *, U> &a, const std::pair<const T *, U> &b) const {
    return (*this)(a.first, b.first) || (!(*this)(b.first, a.first) && a.second < b.second);
  }
};
using OpSet = std::set<const Op *, InOrder>;
using ValueSet = std::set<const Value *, InOrder>;
template <class T> using OpMap = std::map<const Op *, T, InOrder>;
template <class T> using ValueMap = std::map<const Value *, T, InOrder>;

enum class OpKind : uint8_t {
#define TKC_UNARY(kind, name, domain, summary) kind,
#define TKC_BINARY(kind, name, domain, summary) kind,
#define TKC_OP(kind, name, summary) kind,
#include "ir/Ops.def"
};
std::string_view spelling(OpKind kind);
std::optional<OpKind> parseOpKind(std::string_view name);
bool isElementwiseUnary(OpKind kind);
bool isElementwiseBinary(OpKind kind);
/// Either of them, a cast or a selection: each element of the result is made of elements at its place.
bool isElementwise(OpKind kind);
bool isCompare(OpKind kind);
/// Load, Store, Atomic, and control flow that contains them are kept in order; the rest is free to move.
bool hasEffect(OpKind kind);

/// What an SSA value is.
/// Printed: `f32` (scalar), `vector<f32, 128, %i>`, `tile<f32, 128x64, %i, full>` (the edge of each axis: full, or the
/// tile index with which it ends), `index<128>` (a tile index of that size).
struct Type {
  enum Kind : uint8_t { Scalar, Vector, Tile, TileIndex } kind = Scalar;
  ElemType elem = ElemType::F32; ///< of Scalar, Vector, Tile
  int64_t rows = 1;              ///< Tile; a Vector's length; a TileIndex's size
  int64_t cols = 1;              ///< Tile
  /// Root tile index (a block argument, never a Shift) that ends the rows; null: full. An axis of fewer elements than
  /// the index has one for each `stepOf` elements of it: those begun before the end exist.
  Value *rowEnd = nullptr;
  Value *colEnd = nullptr;

  bool isScalar() const { return kind == Scalar; }
  bool isTile() const { return kind == Tile; }
  bool isColumn() const { return kind == Tile && cols == 1; }
  bool isRow() const { return kind == Tile && rows == 1; }
  friend bool operator==(const Type &, const Type &) = default;

  static Type scalar(ElemType elem) { return {Scalar, elem, 1, 1, nullptr, nullptr}; }
  static Type vector(ElemType elem, int64_t length, Value *end = nullptr) {
    return {Vector, elem, length, 1, end, nullptr};
  }
  static Type tile(ElemType elem, int64_t rows, int64_t cols, Value *rowEnd = nullptr, Value *colEnd = nullptr) {
    return {Tile, elem, rows, cols, rowEnd, colEnd};
  }
  static Type tileIndex(int64_t size) { return {TileIndex, ElemType::I32, size, 1, nullptr, nullptr}; }
};

/// An op's result or a body's argument.
class Value {
public:
  const uint64_t number = nextNumber(); ///< InOrder
  Type type;
  std::string name;            ///< from the source where there is one; made unique when printed
  Op *definingOp = nullptr;    ///< null for a body's argument
  Block *ownerBlock = nullptr; ///< of a body's argument
  unsigned index = 0;          ///< among the results or arguments
  std::vector<Op *> users;     ///< one entry a use; kept by Op
};

/// A dim of a tensor: an integer expression of symbols.
struct DimExpr {
  enum Kind : uint8_t { Const, Symbol, Add, Sub, Mul, Div, Mod } kind = Const; ///< Div, Mod floor
  int64_t value = 0;
  std::string symbol;
  std::shared_ptr<const DimExpr> lhs, rhs;

  static DimExpr constant(int64_t value);
  static DimExpr named(std::string symbol);
  static DimExpr binary(Kind kind, DimExpr lhs, DimExpr rhs);
  bool isConst() const { return kind == Const; }
  std::string str() const; ///< as in the source, fewest parentheses
};
/// Of an operation, `+` for one; of a number and a symbol empty.
std::string_view spelling(DimExpr::Kind kind);

/// The dim's value, `valueOf` giving those of symbols. nullopt: a symbol without one, a division by zero, an overflow.
std::optional<int64_t> evaluate(const DimExpr &dim,
                                llvm::function_ref<std::optional<int64_t>(const std::string &)> valueOf);

enum class ParamMode : uint8_t { In, Out, InOut };

/// A run-time parameter. Const parameters are in Function::constants.
struct Param {
  std::string name;
  ParamMode mode = ParamMode::In;
  bool isTensor = false;
  ElemType elem = ElemType::F32;
  std::vector<DimExpr> dims; ///< of a tensor; the last is contiguous, the others have any stride
  bool isOptional = false;
  bool isPresent = true; ///< in this specialisation; a store to an absent out was dropped
  bool isLocal = false;  ///< no parameter but memory that each block has of its own (`new` in a kernel): an Out whose
                        ///< dims are known
  std::optional<int64_t> above; ///< a scalar: callers pass what is greater than this number only, which is not negative
  SourceLoc loc;
};

/// One index of a view. `operand` is the position among the op's operands.
struct ViewIndex {
  enum Kind : uint8_t {
    Element, ///< an i32 scalar: drops the dim
    Tiled,   ///< a tile index: an axis
    All,     ///< `:`: an axis, the whole compile-time dim
    Span,    ///< `lo:hi`, compile-time: an axis
    Gather,  ///< a column, a row or a tile of i32: element (r, c) of the result uses its broadcast value there
  } kind = Element;
  unsigned operand = 0; ///< Element, Tiled, Gather
  int64_t lo = 0;       ///< All: 0; Span; Gather, in plans: columns that exist of a padded tile of indices
  int64_t hi = 0;       ///< All: the dim's size; Span; Gather, in plans: positions that exist of a padded index; 0: all
  /// Tiled: an element for each so many of the tile index, [begin / divisor, ⌈end / divisor⌉); divides begin and size.
  int64_t divisor = 1;
};

/// Which slice of which parameter a Load, Store or Atomic touches. Axes of the result come in the order of the dims
/// that keep one: the first is the rows. Gathers by columns make the row axis, by rows the column axis, by tiles both.
/// A transposed load is a Transpose of a Load.
struct View {
  std::string tensor;
  std::vector<ViewIndex> indices;

  bool hasGather() const;
};

enum class ReduceKind : uint8_t { Sum, Max, Min, Prod, ArgMax, ArgMin };
enum class AtomicKind : uint8_t { Add, Max, Min };
std::string_view spelling(ReduceKind kind);
std::string_view spelling(AtomicKind kind);

/// A straight line of ops; the last op of a body is a Yield where values leave it.
struct Block {
  std::vector<std::unique_ptr<Value>> args;
  std::list<std::unique_ptr<Op>> ops;
  Op *parent = nullptr; ///< null for a function's body

  Block() = default;
  ~Block();
  Block(const Block &) = delete;
  Value *addArg(Type type, std::string name);
  /// The Yield at the end, or null.
  Op *terminator() const;
};

/// One operation. Fields beyond operands and results mean something for the kinds named beside them only.
class Op {
public:
  const uint64_t number = nextNumber(); ///< InOrder
  OpKind kind;
  SourceLoc loc;
  std::vector<std::unique_ptr<Value>> results;
  std::vector<std::unique_ptr<Block>> bodies; ///< Parallel, For: one; If: two
  Block *parent = nullptr;
  std::list<std::unique_ptr<Op>>::iterator position; ///< in parent->ops

  // Const: a double holds every i32, i64 index in use and f32; f64 as written. For: 1 where it has one tile at most.
  double constant = 0;
  std::string name; ///< Dim: the symbol; Param: the parameter; ExternCall: the function
  int axis = 0;     ///< Reduce, Cumsum, Elements: 0 runs down the rows (Elements: a column), 1 across
  ReduceKind reduce = ReduceKind::Sum;
  AtomicKind atomic = AtomicKind::Add;
  View view;            ///< Load, Store, Atomic
  bool hasElse = false; ///< Load: the last operand is what stands outside the tensor
  int64_t tileSize = 0; ///< Parallel, For: 0 steps over integers, else over tiles of this size
  /// For: the range is where masks of elements change, as split-loops found: with a part of an outer tile in the place
  /// of the tile, the bounds are those for that part's elements.
  bool byMasks = false;

  const std::vector<Value *> &operands() const { return operandList; }
  Value *operand(size_t i) const { return operandList[i]; }
  void addOperand(Value *value);
  void setOperand(size_t i, Value *value);
  void eraseOperand(size_t i);
  Value *addResult(Type type);
  Block *addBody();
  /// Lets go of every operand, here and in the bodies, so that what they refer to may go in any order.
  void dropUses();
  Value *result(size_t i = 0) const { return results[i].get(); }
  Block &body(size_t i = 0) const { return *bodies[i]; }

  explicit Op(OpKind kind, SourceLoc loc) : kind(kind), loc(loc) {}
  ~Op();

private:
  std::vector<Value *> operandList;
};

/// What is known of a division of integers, or of its remainder. Both floor, and a divisor of 0 gives 0.
enum class Quotient : uint8_t {
  Any,      ///< nothing: the divisor may be 0, or -1, by which the least number has no quotient
  Positive, ///< the divisor is at least 1
  Natural,  ///< and the dividend at least 0: rounding down and rounding to zero are one
};

/// One specialisation of a kernel.
class Function {
public:
  std::string kernel; ///< the source's name
  std::string doc;    ///< its `///` text
  SourceLoc loc;
  /// Everything fixed when compiling, by name as in the source, in order of declaration: tunes, consts, `where` dims
  /// (as integers; bool as 0 or 1).
  std::vector<std::pair<std::string, int64_t>> constants;
  std::vector<std::string> tunes; ///< which of the constants are tunes
  std::vector<std::pair<std::string, ElemType>> typeArgs;
  std::vector<Param> params;
  std::vector<std::pair<DimExpr, DimExpr>> multiples; ///< in every call the first is a multiple of the second
  Block body;

  const Param *findParam(std::string_view name) const;
  std::optional<int64_t> findConstant(std::string_view name) const;
};

/// Every use of `from` becomes one of `to`.
void replaceAllUses(Value *from, Value *to);
/// Removes an op without uses from its block.
void erase(Op *op);
/// Takes an op out of its place and puts it before another, or at the end of a block.
void moveBefore(Op *op, Op *before);
void moveToEnd(Op *op, Block *block);
/// The tile index itself, or what it was moved from.
Value *rootTileIndex(Value *tileIndex);
/// Calls `visit` on every op, outer first.
template <class Visit> void walk(Block &block, Visit visit) {
  for (auto &op : block.ops) {
    visit(*op);
    for (auto &body : op->bodies)
      walk(*body, visit);
  }
}

/// Makes ops at a point, with result types worked out from operands. Asserts what the verifier would refuse: callers
/// check user input first (joinEdges, broadcastShape).
class Builder {
public:
  Builder(Function &function, Block *block) : function(function), block(block), at(block->ops.end()) {}

  void setInsertionPoint(Block *newBlock) { block = newBlock, at = newBlock->ops.end(); }
  void setInsertionPointBefore(Op *op);
  void setLoc(SourceLoc newLoc) { loc = newLoc; }
  Block *insertionBlock() const { return block; }

  Value *constant(ElemType elem, double value);
  Value *dim(const std::string &symbol);
  Value *param(const std::string &name);
  Value *unary(OpKind kind, Value *x);
  Value *binary(OpKind kind, Value *x, Value *y);
  Value *cast(ElemType to, Value *x);
  Value *select(Value *condition, Value *x, Value *y);
  Value *full(Value *scalar, int64_t rows, int64_t cols);
  Value *iota(int64_t rows, int64_t cols);
  Value *begin(Value *tileIndex);
  Value *end(Value *tileIndex);
  Value *index(Value *tileIndex);
  /// axis 0: a column; 1: a row
  Value *elements(Value *tileIndex, int axis);
  Value *shift(Value *tileIndex, Value *by);
  Value *toScalar(Value *tile);
  Value *asCol(Value *vector);
  Value *asRow(Value *vector);
  Value *reduce(ReduceKind kind, int axis, Value *x);
  Value *cumsum(int axis, Value *x);
  Value *transpose(Value *x);
  Value *dot(Value *a, Value *b, Value *accumulator = nullptr);
  Value *dotScaled(Value *a, Value *scaleA, Value *b, Value *scaleB, Value *accumulator = nullptr);
  Value *philox(Value *seed, Value *i, Value *j);
  /// `operands` are what the view's indices refer to.
  Value *load(View view, std::vector<Value *> operands, Value *otherwise, Type type);
  Op *store(View view, std::vector<Value *> operands, Value *value);
  Op *atomic(AtomicKind kind, View view, std::vector<Value *> operands, Value *value);
  Value *externCall(const std::string &name, std::vector<Value *> args, ElemType result);
  /// tileSize 0: over integers. Leaves the insertion point where it was; the caller fills the body.
  Op *parallel(Value *lo, Value *hi, int64_t tileSize, const std::string &inductionName);
  /// The body's arguments after the induction variable have `carried`'s types unless the caller changes them.
  Op *forLoop(Value *lo, Value *hi, int64_t tileSize, const std::string &inductionName,
              const std::vector<Value *> &initial);
  Op *ifOp(Value *condition, const std::vector<Type> &resultTypes);
  Op *yield(const std::vector<Value *> &values);

  /// A copy of `op` with its bodies. Operands and edges found in `mapping` are replaced; results and body arguments of
  /// the copy are added to it.
  Op *clone(const Op &op, ValueMap<Value *> &mapping);

  /// For what has no function above: an op at the insertion point, results and attributes left to the caller.
  Op *insert(OpKind kind, const std::vector<Value *> &operands, const std::vector<Type> &resultTypes);

private:
  Function &function;
  Block *block;
  std::list<std::unique_ptr<Op>>::iterator at;
  SourceLoc loc;
};

/// Two edges of one axis: full meets m gives m; nullopt where two different indices meet.
std::optional<Value *> joinEdges(Value *a, Value *b);
/// NumPy's rule on two types (scalars count as [1, 1]); the element type is `x`'s. nullopt where shapes or edges clash.
std::optional<Type> broadcast(const Type &x, const Type &y);
/// The element type that both are converted to when they meet in arithmetic: f64 before f32 before i32; bool alone
/// stays bool.
ElemType joinElemTypes(ElemType x, ElemType y);
/// What a tile with this index ends with: its root, or null (full) where a size of 1 leaves nothing to clip. `divisor`
/// as in ViewIndex.
Value *edgeOf(Value *tileIndex, int64_t divisor = 1);
/// Elements of tile index `end` for each of an axis of `size` that ends with it; 1 where the axis is full.
int64_t stepOf(const Value *end, int64_t size);
/// The block scales of a product: which types take which.
struct BlockScaling {
  ElemType elem, scale;
  int64_t block; ///< elements along what is contracted that share a scale
};
/// OCP Microscaling Formats (MX) 1.0: f8e8m0 for 32; NVFP4: f8e4m3 for 16. nullopt: there are no such scales.
std::optional<BlockScaling> findBlockScaling(ElemType elem, ElemType scale);
/// Whether a product with block scales takes these two types: equal ones, or any two of float8 and six bits.
bool canMultiplyScaled(ElemType a, ElemType b);
/// The type of the slice `view` takes, `operands` being what its indices refer to. nullopt where the view keeps more
/// than two axes, two indices clash on one axis, or a gather's operand is not a tile of integers.
std::optional<Type> viewType(ElemType elem, const View &view, const std::vector<Value *> &operands);

// ---- text and checks -----------------------------------------------------------------------------------------------

std::string print(const Type &type);
struct PrintOptions {
  const SourceManager *sources = nullptr; ///< adds `// gemm.tk:5` after each op
};
/// The text form; parses back to the same function.
std::string print(const Function &function, const PrintOptions &options = {});
/// Parses functions from text in buffer `buffer` of the engine's sources; reports and returns what it could.
std::vector<std::unique_ptr<Function>> parseTileIR(uint32_t buffer, DiagnosticEngine &diagnostics);
/// A broken rule: the sentence, and the op in question.
struct VerifyError {
  SourceLoc loc;
  std::string message;
};
/// Every broken rule; empty when the function is sound.
std::vector<VerifyError> verify(const Function &function);

} // namespace tkc::ir
