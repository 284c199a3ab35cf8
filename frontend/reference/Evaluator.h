// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes an equation's value at many points at once. One variable, the *lane*, takes up to `maxLanes` values, the
// others one each; every node is one loop over the lanes. What does not depend on the lane is computed once.
#pragma once

#include "frontend/reference/Model.h"

#include <cmath>
#include <optional>

namespace tkc::reference {

inline constexpr int maxLanes = 256;

/// Why a point has no value.
struct Failure {
  enum Kind : uint8_t {
    Missing, ///< an element of a recursive intermediate that is not computed yet
    Cycle,   ///< one that is being computed
    Invalid, ///< an index outside a tensor, a division of integers by zero
  } kind;
  SourceRange range;
  std::string message; ///< Invalid
  int tensor = -1;     ///< Missing, Cycle
  int64_t element = 0;
};

/// Errors beside infinities and NaN mean nothing.
inline double meaningful(double value, double error) { return std::isfinite(value) && !std::isnan(error) ? error : 0; }

/// A value for each lane, or one for all: then the stride is 0. An error is `relative` times the value, plus what
/// `errors` says where it is not null.
struct Floats {
  const double *values;
  const double *errors;
  int stride;
  double relative = 0;
  const double *roundings = nullptr;  ///< of a sum: of its terms, as if they were a larger sum's (Total::roundings)
  const double *magnitudes = nullptr; ///< of a sum: of its terms, added up
  const double *growths = nullptr;    ///< of a sum: Total::growth

  double magnitudeAt(int i) const { return magnitudes ? magnitudes[i * stride] : std::fabs(values[i * stride]); }
  double roundingsAt(int i) const { return roundings ? roundings[i * stride] : 1; }
  double growthAt(int i) const { return growths ? growths[i * stride] : std::fabs(values[i * stride]); }
  double errorAt(int i) const {
    const double value = values[i * stride];
    return (errors ? errors[i * stride] : 0) + (relative == 0 ? 0 : meaningful(value, relative * std::fabs(value)));
  }
};
struct Integers {
  const int64_t *values;
  int stride;
};

class Evaluator {
public:
  Evaluator(const Model &model, const CompiledEquation &equation, const ErrorModel *errorModel);

  /// The equation's value where its indices are `indices`, but index `lane` (-1: none) goes through `count` values from
  /// its own. Writes `count` values and, with an error model, errors. False where `failure()` says why.
  bool evaluate(const int64_t *indices, int lane, int count, double *values, double *errors);
  /// Of an equation whose value is an integer.
  bool evaluate(const int64_t *indices, int lane, int count, int64_t *values);
  const std::optional<Failure> &failure() const { return failed; }

private:
  /// The lanes that are being computed.
  struct Lanes {
    int variable = -1;
    const int64_t *values = nullptr;
    int count = 1;
    bool isContiguous = true; ///< values[i] == values[0] + i
  };
  /// Room for one node's values.
  struct Buffers {
    std::unique_ptr<double[]> values, errors, roundings, magnitudes, growths;
    std::unique_ptr<int64_t[]> integers, lanes;
  };

  void begin(const int64_t *indices, int lane, int count);
  Floats floats(const Node &node);
  Integers integers(const Node &node);

  // Arithmetic.cpp
  Floats unary(const Node &node);
  Floats binary(const Node &node);
  bool mayBeNarrowed(const Node &factor) const;
  bool anyVanishes(const double *values, int count) const;
  Floats castFloat(const Node &node);
  Floats castWhole(const Node &node);
  Floats philox(const Node &node);
  Integers integerUnary(const Node &node);
  Integers integerBinary(const Node &node);
  Integers compare(const Node &node);
  Integers castInteger(const Node &node);
  // Evaluator.cpp
  Floats accessFloats(const Node &node);
  Floats constant(const Node &node);
  Integers accessIntegers(const Node &node);
  template <class Read> void forEachElement(const Node &node, Read read);
  bool isReady(const Node &node, const TensorSlot &tensor, int64_t element);
  template <class T, class Evaluate, class Store> void choose(const Node &node, Evaluate evaluate, Store store);
  void selectLanes(Lanes &lanes, const Lanes &from, const std::vector<int> &which, int64_t *storage);
  // Reductions.cpp
  Floats reduceFloats(const Node &node);
  Integers reduceIntegers(const Node &node);
  template <class Visit> void forEachLane(Visit visit);
  std::pair<int64_t, int64_t> range(const Node &node);
  bool boundsAreUniform(const Node &node) const;
  template <class T, class Sum> void reduceAcross(const Node &node, int64_t lo, int64_t hi, Sum sum);

  bool isUniform(const Node &node) const { return lanes.variable < 0 || !(node.variables >> lanes.variable & 1); }
  int count(const Node &node) const { return isUniform(node) ? 1 : lanes.count; }
  Buffers &room(const Node &node) { return buffers[node.id]; }
  double *valuesOf(const Node &node);
  double *errorsOf(const Node &node);
  double *roundingsOf(const Node &node);
  double *magnitudesOf(const Node &node);
  double *growthsOf(const Node &node);
  int64_t *integersOf(const Node &node);
  int64_t *lanesOf(const Node &node);
  void fail(Failure failure) {
    if (!failed)
      failed = std::move(failure);
  }

  const Model &model;
  const CompiledEquation &equation;
  const ErrorModel *errorModel;
  std::vector<Buffers> buffers;
  std::vector<int64_t> variables; ///< values of those that are not the lane
  std::vector<int64_t> ownLanes;
  Lanes lanes;
  std::optional<Failure> failed;
};

} // namespace tkc::reference
