// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands whose rows the copy engine cannot take, copied to workspace before a launch: there rows begin at multiples
// of 128 bytes, and what lies between them is zero.
#pragma once

#include "tk/copy.h"
#include "tk/host/api.h"
#include "tk/host/arguments.h"
#include "tk/sync.h"

namespace tk::host {

/// A tensor's rows. Dims and strides (in bytes) of all dims but the last, from the innermost out; ones and zeros
/// beyond.
template <int Rank> struct padded_rows {
  const u8 *from;
  u8 *to;
  i64 dims[Rank - 1], strides[Rank - 1];
  i64 row_bytes, chunks; ///< chunks of 16 bytes, of all rows with what follows each
  int across;            ///< of one row
  int size;              ///< bytes of an element
  unsigned blocks;       ///< of the launch, which copy this tensor
};
template <int Count, int Rank> struct padded_tensors {
  padded_rows<Rank> of[Count];
};

template <int Size, int Rank>
__device__ __forceinline__ void copy_chunks(const padded_rows<Rank> &g, unsigned block, unsigned threads) {
  for (i64 i = i64(block) * threads + threadIdx.x; i < g.chunks; i += i64(g.blocks) * threads) {
    i64 row = i / g.across, at = 0;
    const i64 column = (i - row * g.across) * 16, left = g.row_bytes - column;
#pragma unroll
    for (int d = 0; d < Rank - 1; ++d) {
      at += (d == Rank - 2 ? row : row % g.dims[d]) * g.strides[d];
      row /= g.dims[d];
    }
    straddling_chunk<Size> chunk;
    chunk.load(g.from + at + column, int(left < 0 ? 0 : left < 16 ? left : 16));
    *reinterpret_cast<uint4 *>(g.to + i * 16) = chunk.get();
  }
}

template <int Count, int Rank>
__global__ void copy_to_padded_rows(const __grid_constant__ padded_tensors<Count, Rank> g) {
  if constexpr (compute_capability >= 90)
    launch_dependents();
  unsigned block = blockIdx.x;
  int n = 0;
  for (; n < Count - 1 && block >= g.of[n].blocks; ++n)
    block -= g.of[n].blocks;
  const padded_rows<Rank> &rows = g.of[n];
  if (rows.size == 1)
    copy_chunks<1>(rows, block, blockDim.x);
  else if (rows.size == 2)
    copy_chunks<2>(rows, block, blockDim.x);
  else
    copy_chunks<4>(rows, block, blockDim.x);
}

/// Whether a copy is what the copy engine asks for, and the tensor is not.
inline bool is_padded_in_workspace(const argument &a) {
  return a && a.rank() > 1 && !a.is_empty() && alignment(a) < 16;
}
inline int64_t padded_pitch(const argument &a) { return (bytes_of(a.type, a.dim(a.rank() - 1)) + 127) / 128 * 128; }
/// Of workspace, for the copy of a tensor that needs one.
inline int64_t padded_bytes(const argument &a) {
  if (!is_padded_in_workspace(a))
    return 0;
  int64_t bytes = padded_pitch(a);
  for (int d = 0; d < a.rank() - 1; ++d)
    bytes *= a.dim(d);
  return (bytes + 255) / 256 * 256;
}

/// Whether a copy costs less than to let threads read the tensor anew for each tile that needs it: each byte `times`,
/// by so many blocks. A copy reads and writes the tensor once, at `memory` bytes a nanosecond, and is a launch.
inline bool copy_pays(const argument &a, double times, double blocks, double memory, const device &on) {
  constexpr double launch = 1700; // nanoseconds
  // Bytes a nanosecond of a block, of rows that begin at words, and of others: measured on an H100
  // (docs/notes/odd-rows.md).
  constexpr double by_words = 15, shifted = 7.5;
  const double bytes = double(padded_bytes(a));
  const double at_once = blocks < on.multiprocessors ? blocks : on.multiprocessors;
  return bytes * times / (alignment(a) < 4 ? shifted : by_words) > at_once * (launch + 2 * bytes / memory);
}

/// Copies of up to Count tensors of at most Rank dims, which one launch makes: launches cost more than small tensors
/// do.
template <int Count, int Rank> class padded_copies {
public:
  padded_copies(call &with, void *workspace) : c(with), rest(static_cast<char *>(workspace)) {}
  padded_copies(const padded_copies &) = delete; // tensors point into this

  /// The tensor as the next launch takes it: its copy in workspace, if it `pays` and the copy engine asks for one, or
  /// the caller's.
  const tk_tensor *add(const argument &a, bool pays) {
    if (!c.ok() || !pays || !is_padded_in_workspace(a))
      return a.tensor;
    const int last = a.rank() - 1, n = count++;
    padded_rows<Rank> &rows = g.of[n];
    int64_t stride = padded_pitch(a) / bytes_of(a.type), all = 1;
    dims[n][last] = a.dim(last), strides[n][last] = 1;
    for (int i = 0; i < Rank - 1; ++i) {
      const int d = last - 1 - i;
      rows.dims[i] = d < 0 ? 1 : a.dim(d);
      rows.strides[i] = d < 0 ? 0 : bytes_of(a.type, a.stride(d));
      if (d < 0)
        continue;
      dims[n][d] = a.dim(d), strides[n][d] = stride;
      stride *= a.dim(d), all *= a.dim(d);
    }
    rows.from = reinterpret_cast<const u8 *>(a.data()), rows.to = reinterpret_cast<u8 *>(rest);
    rows.row_bytes = bytes_of(a.type, a.dim(last));
    rows.across = static_cast<int>(padded_pitch(a) / 16);
    rows.chunks = all * rows.across;
    rows.size = static_cast<int>(bytes_of(a.type));
    const i64 needed = (rows.chunks + threads - 1) / threads;
    rows.blocks = static_cast<unsigned>(needed < most_blocks ? needed : most_blocks);
    blocks += rows.blocks;
    copied[n] = *a.tensor;
    copied[n].data = rest, copied[n].byte_offset = 0, copied[n].dims = dims[n], copied[n].strides = strides[n];
    rest += padded_bytes(a);
    return &copied[n];
  }

  void launch(api::stream stream) {
    if (!c.ok() || count == 0)
      return;
    void *parameters[] = {&g};
    const api::error error = api::launch(reinterpret_cast<const void *>(&copy_to_padded_rows<Count, Rank>), blocks,
                                         threads, parameters, stream);
    if (error != api::success)
      c.fail(TK_CUDA_ERROR, "%s", api::text_of(error));
  }

  /// How what reads the copies may begin.
  order next() const { return count > 0 ? order::overlap_previous : order::after_all; }

private:
  static constexpr unsigned threads = 256, most_blocks = 65536;

  call &c;
  char *rest;
  int count = 0;
  unsigned blocks = 0;
  padded_tensors<Count, Rank> g{};
  tk_tensor copied[Count] = {};
  int64_t dims[Count][Rank] = {}, strides[Count][Rank] = {};
};

} // namespace tk::host
