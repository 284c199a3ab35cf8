// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/ScratchMemory.h"

#include "backends/plan/placement/SharedUse.h"

namespace tkc::planner {

/// Each transposition begins with a barrier behind which no thread reads what went through before.
void shareScratch(std::vector<plan::Buffer> &scratch, const std::set<std::string> &transposed, Placement &placement) {
  plan::Buffer *host = nullptr;
  const auto isTransposed = [&](const plan::Buffer &buffer) { return transposed.count(buffer.name) != 0; };
  for (plan::Buffer &buffer : scratch)
    if (isTransposed(buffer) && (!host || buffer.totalBytes() > host->totalBytes()))
      host = &buffer;
  for (plan::Buffer &buffer : scratch)
    if (isTransposed(buffer) && &buffer != host)
      buffer.aliasOf = host->name;
  placement.note(plan::Note::Stages, {},
                 "all transpositions go through the memory of the largest: shared memory has no room for each");
}

int64_t scratchBytesOf(const std::vector<plan::Buffer> &scratch, int64_t alignment) {
  int64_t bytes = 0;
  for (const plan::Buffer &buffer : scratch)
    if (buffer.aliasOf.empty())
      bytes += aligned(buffer.totalBytes(), alignment);
  return bytes;
}

} // namespace tkc::planner
