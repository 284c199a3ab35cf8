// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/NearestName.h"

#include <algorithm>

namespace tkc {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours, each for 1.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

} // namespace

std::optional<std::string> nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  size_t limit = name.size() <= 2 ? 1 : (name.size() + 2) / 3;
  std::optional<std::string> best;
  size_t bestDistance = limit + 1;
  for (const std::string &candidate : candidates) {
    // Replacing every letter of a short name is no misspelling.
    size_t distance = editDistance(name, candidate);
    bool isBetter = distance < bestDistance || (best && distance == bestDistance && candidate.starts_with(name));
    if (isBetter && distance < std::max(name.size(), candidate.size())) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

} // namespace tkc
