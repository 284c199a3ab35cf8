// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers that are the same on every machine, unlike those of <random>'s distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace tkc::harness {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t bits() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// In lo..hi, both included.
  int64_t integer(int64_t lo, int64_t hi) {
    if (hi <= lo)
      return lo;
    const uint64_t count = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1; // 0: of all there are
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + (count ? bits() % count : bits()));
  }
  /// Mean 0, standard deviation 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t state;
};

/// A seed from a name and a number (FNV-1a).
inline uint64_t seedFrom(std::string_view name, uint64_t number) {
  uint64_t hash = 0xCBF29CE484222325ull ^ number;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

} // namespace tkc::harness
