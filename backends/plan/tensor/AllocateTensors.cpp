// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/tensor/AllocateTensors.h"

#include <algorithm>
#include <numeric>

namespace tkc::planner {
namespace {

/// What instructions make of a buffer lies as far apart as in the least larger one that is in use at other times.
void widen(std::vector<plan::TensorBuffer> &buffers, const std::map<std::string, TensorUse> &uses) {
  for (plan::TensorBuffer &buffer : buffers) {
    const plan::TensorBuffer *least = nullptr;
    for (const plan::TensorBuffer &other : buffers) {
      const bool suits = other.rows / other.instructionRows == buffer.rows / buffer.instructionRows &&
                         other.stages == buffer.stages && other.instructionColumns() > buffer.instructionColumns() &&
                         !uses.at(buffer.name).meets(uses.at(other.name));
      if (suits && (!least || other.instructionColumns() < least->instructionColumns()))
        least = &other;
    }
    buffer.stride = least ? least->instructionColumns() : 0;
  }
}

} // namespace

bool TensorUse::meets(const TensorUse &other) const {
  return std::any_of(spans.begin(), spans.end(), [&](const Span &span) {
    return std::any_of(other.spans.begin(), other.spans.end(),
                       [&](const Span &its) { return span.first <= its.last && its.first <= span.last; });
  });
}

int64_t allocateTensors(std::vector<plan::TensorBuffer> &buffers, const std::map<std::string, TensorUse> &uses,
                        Sharing sharing) {
  const bool onlyAlike = sharing != Sharing::Any;
  if (sharing == Sharing::Widened)
    widen(buffers, uses);
  std::vector<plan::TensorBuffer *> order;
  for (plan::TensorBuffer &buffer : buffers)
    order.push_back(&buffer);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto *one, const auto *other) { return one->totalColumns() > other->totalColumns(); });
  std::vector<const plan::TensorBuffer *> placed;
  int64_t end = 0;
  for (plan::TensorBuffer *buffer : order) {
    const TensorUse &use = uses.at(buffer->name);
    const auto meets = [&](const plan::TensorBuffer &other, int64_t offset) {
      const TensorUse &its = uses.at(other.name);
      const bool together = use.meets(its);
      const bool alike = offset == other.offset && other.totalColumns() == buffer->totalColumns();
      return (together || (onlyAlike && !alike)) && offset < other.offset + other.totalColumns() &&
             other.offset < offset + buffer->totalColumns();
    };
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const plan::TensorBuffer *other : placed)
        if (meets(*other, offset)) {
          offset = other->offset + other->totalColumns();
          moved = true;
        }
    }
    buffer->offset = offset;
    end = std::max(end, offset + buffer->totalColumns());
    placed.push_back(buffer);
  }
  // Who shares columns says so: each with the first of all that overlap, directly or through others.
  const auto overlap = [](const plan::TensorBuffer &one, const plan::TensorBuffer &other) {
    return one.offset < other.offset + other.totalColumns() && other.offset < one.offset + one.totalColumns();
  };
  std::vector<size_t> root(buffers.size());
  std::iota(root.begin(), root.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < buffers.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (root[i] != root[j] && overlap(buffers[i], buffers[j])) {
          root[i] = root[j] = std::min(root[i], root[j]);
          changed = true;
        }
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i].aliasOf = root[i] == i ? "" : buffers[root[i]].name;
  return end;
}

} // namespace tkc::planner
