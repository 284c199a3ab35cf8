// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which launches may share a counter of tiles.
#pragma once

#include "tk/tile_counter.h"

#include <atomic>
#include <cuda_runtime_api.h>

namespace tk::host {

/// How a launch takes its tiles (tk/tile_counter.h). A counter is for one stream, whose launches run one after the
/// other. What is captured is for no stream: its graph may be replayed in two streams at once, so its blocks have tiles
/// of their own, in this order. So have those of a launch in a stream for which no counter is left.
inline tile_claims tile_claims_of(CUstream_st *stream, tile_order otherwise) {
  constexpr unsigned long long count = tile_counter_count, tries = 64;
  static std::atomic<unsigned long long> owners[count]; // one more than a stream's number; 0: nobody yet
  static std::atomic<unsigned> launches{0};
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone ||
      cudaStreamGetId(stream, &id) != cudaSuccess)
    return {0, 0, otherwise};
  for (unsigned long long at = id; at < id + tries; ++at) {
    unsigned long long owner = 0;
    if (owners[at % count].compare_exchange_strong(owner, id + 1) || owner == id + 1)
      return {static_cast<unsigned>(at % count), ++launches, {}};
  }
  return {0, 0, otherwise};
}

} // namespace tk::host
