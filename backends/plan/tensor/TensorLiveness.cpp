// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/TensorLiveness.h"

#include "backends/plan/tensor/ProductQueue.h"

#include <algorithm>

namespace tkc::planner {

void TensorSpans::touch(const std::set<std::string> &buffers, bool overwrites) {
  for (const std::string &buffer : buffers) {
    std::vector<TensorUse::Span> &spans = all[buffer].spans;
    if (spans.empty() || (overwrites && spans.back().last < place))
      spans.push_back({place, place});
    spans.back().last = place;
  }
}

void TensorSpans::carry(const std::set<std::string> &buffers, int begin) {
  step();
  for (const std::string &buffer : buffers) {
    std::vector<TensorUse::Span> &spans = all[buffer].spans;
    int first = begin;
    while (!spans.empty() && spans.back().last >= begin) {
      first = std::min(first, spans.back().first);
      spans.pop_back();
    }
    if (!spans.empty()) {
      first = spans.back().first;
      spans.pop_back();
    }
    spans.push_back({first, place});
  }
}

std::set<std::string> neededFromBefore(const plan::Body &body, const TensorHomes &homes) {
  const auto isTensor = [&](const std::string &name) {
    return std::any_of(homes.buffers.begin(), homes.buffers.end(), [&](const auto &it) { return it.name == name; });
  };
  std::set<std::string> seen, needed;
  const auto note = [&](const std::string &buffer, bool reads) {
    if (!buffer.empty() && seen.insert(buffer).second && reads)
      needed.insert(buffer);
  };
  plan::walk(body, [&](const plan::Stmt &stmt) {
    if (isTensorAccess(stmt))
      note(stmt.ref.buffer, stmt.kind != plan::StmtKind::StoreTensor);
    if (!stmt.isTensorProduct())
      return;
    if (isTensor(stmt.aRef.buffer))
      note(stmt.aRef.buffer, true);
    note(stmt.destRef.buffer, stmt.accumulate);
  });
  return needed;
}

} // namespace tkc::planner
