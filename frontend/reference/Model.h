// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index notation made ready to run: names are numbers, integers and floats are told apart, every index has a range.
#pragma once

#include "frontend/AST.h"
#include "frontend/reference/Reference.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc::reference {

enum class NodeKind : uint8_t {
  Constant,
  Variable,
  Access,
  ToFloat, ///< an integer as a float
  // integers and floats
  Neg,
  Abs,
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  // integers
  Mod,
  BitNot,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
  // comparisons: of integers or floats to an integer 0 or 1
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Not,
  // control: evaluate only what is asked for
  If, ///< also `and`, `or`
  Reduce,
  // floats
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Rcp,
  Tanh,
  Sin,
  Cos,
  Erf,
  Sigmoid,
  Floor,
  Cast, ///< rounds to `elem`; an integer where `elem` is one
  Philox,
};

enum class Reduction : uint8_t { Sum, Max, Min, Prod };

struct Node {
  NodeKind kind;
  bool isInteger = false;
  bool isTruth = false;   ///< an integer that is a bool: `~` of it is `not`
  bool isWide = false;    ///< an integer that kernels compute in 64 bits
  uint64_t variables = 0; ///< bit v: the value depends on variable v
  std::vector<Node *> children;
  SourceRange range;
  double constant = 0;
  int64_t integer = 0;
  int variable = -1;           ///< Variable, Reduce
  int tensor = -1;             ///< Access
  ElemType elem{};             ///< Cast
  Reduction reduction{};       ///< Reduce: children are the body and, where the range is written, lo and hi
  unsigned id = 0;             ///< among the equation's nodes
  bool isExactOperand = false; ///< a constant or an input: a kernel has it without rounding
  bool isContracted = false;   ///< Mul: a term of a sum, which a kernel may compute as a matrix product
};

/// An index of an equation: on its left side or bound by a reduction.
struct Variable {
  std::string name;
  SourceRange range;
  bool isWritten = false; ///< its range stands beside it
  bool isKnown = false;   ///< lo and hi are; a reduction evaluates written ranges where it runs
  int64_t lo = 0;
  int64_t hi = 0;
};

/// An input, an output or an intermediate.
struct TensorSlot {
  std::string name;
  bool isInteger = false;
  bool isTruth = false;
  bool isWide = false;   ///< as of nodes
  bool isOutput = false; ///< its dims were given, not inferred
  int equation = -1;     ///< that defines it; -1 for inputs
  std::vector<int64_t> dims;
  std::vector<bool> isKnown;   ///< whether the dim and its origin are
  std::vector<int64_t> origin; ///< of each index
  std::vector<int64_t> strides;
  const double *data = nullptr;      ///< of floats, and of inputs of narrow integers
  const int64_t *integers = nullptr; ///< of others
  const double *error = nullptr;     ///< null: exact
  std::vector<double> ownData;
  std::vector<int64_t> ownIntegers;
  std::vector<double> ownError;

  /// Of an equation's elements.
  enum State : uint8_t { Unknown, Busy, Done, Failed };
  std::vector<uint8_t> states;
  bool isRecursive = false;            ///< being computed from itself: look at states
  std::atomic<bool> hasFailed = false; ///< some element could not be computed: look at states

  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
};

struct CompiledEquation {
  const ast::Equation *source;
  int tensor; ///< that it defines
  std::vector<std::unique_ptr<Node>> nodes;
  Node *value = nullptr;
  std::vector<Variable> variables; ///< those of the left side first
  size_t numIndices = 0;
  std::vector<Node *> lo, hi; ///< of the left side, where written
};

struct Model {
  std::vector<std::unique_ptr<TensorSlot>> tensors;
  std::vector<CompiledEquation> equations;
};

/// Names, types and ranges. False after errors were reported.
bool compile(const ReferenceInput &input, const std::vector<ast::Equation> &equations, Model &model,
             DiagnosticEngine &diagnostics);
/// Finds the range of every index that has none written. Part of compile().
bool inferRanges(Model &model, DiagnosticEngine &diagnostics);
/// The value of an integer expression without indices.
int64_t evaluateInteger(const Model &model, const Node &node);
/// The same with values for the variables; nothing where it has no value.
std::optional<int64_t> evaluateIntegerAt(const Model &model, const Node &node, const std::vector<int64_t> &variables);
std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &dims);
/// Computes every equation that outputs need. False after an error was reported.
bool run(Model &model, const std::vector<int> &outputs, const ErrorModel *errors, DiagnosticEngine &diagnostics);

} // namespace tkc::reference
