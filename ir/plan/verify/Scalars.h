// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars and tile indices as a run of the protocol check computes them: exactly, where they come from dims, scalar
// parameters and constants; where they come from memory or from tiles, as some small number that is the same whenever
// the same operation is asked about the same values. So two roles agree on the trips of a loop if, and only if, they
// compute them from the same values.
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <string>
#include <unordered_map>

namespace tkc::plan {

/// A scalar (`value`) or a tile index.
struct Scalar {
  double value = 0;
  int64_t begin = 0, end = 0, index = 0; ///< of a tile index; `end` is where its range ends
};

/// What a run fixes.
struct Inputs {
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> params;
  std::map<std::string, bool> mapsFit; ///< whether the copy engine can do a map's tensor
  uint64_t seed = 0;
  int tiles = 1; ///< that the block takes, where it may take several
  /// The most trips of a loop: of one in three, and of the others; 0: as many as its bounds say.
  int64_t manyTrips = 0, fewTrips = 0;

  /// Where a loop over [lo, hi) ends. All who go over one range leave out the same tiles at its end.
  int64_t endOf(int64_t lo, int64_t hi, int64_t step) const;
};

class Scalars {
public:
  /// Those of one instance of a role.
  explicit Scalars(const Inputs &inputs, int instance = 0) : inputs(inputs), instance(instance) {}

  void setInstance(int number) { instance = number; }

  Scalar get(const std::string &name) const;
  void set(const std::string &name, Scalar value) { values[name] = value; }
  /// Runs a Compute, Move or Load whose result is a scalar or a tile index. `occurrence` says how often the role has
  /// run this statement before.
  void run(const Stmt &stmt, const VarType &dest, uint64_t occurrence);
  /// Null where `name` is no scalar or tile index that has a value.
  const Scalar *find(const std::string &name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  }

private:
  double compute(const Stmt &stmt, uint64_t occurrence) const;
  double opaque(const Stmt &stmt, uint64_t occurrence) const;
  double operand(const Stmt &stmt, size_t i) const { return get(stmt.operands[i]).value; }

  int64_t edge(const Stmt &stmt) const;

  const Inputs &inputs;
  int instance;
  std::unordered_map<std::string, Scalar> values;
};

/// Towards zero; 0 for what is no number, or far beyond any size.
int64_t toInteger(double value);

/// Mixes `value` into a hash.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

} // namespace tkc::plan
