// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands whose rows the copy engine cannot take, copied to workspace before a launch: there rows begin at multiples
// of 128 bytes, and what lies between them is zero.
#pragma once

#include "tk/copy.h"
#include "tk/host/api.h"
#include "tk/host/arguments.h"

namespace tk::host {

/// Rows of elements of Size bytes. Dims and strides (in bytes) of all dims but the last, from the innermost out.
template <int Rank> struct padded_rows {
  const u8 *from;
  u8 *to;
  i64 dims[Rank - 1], strides[Rank - 1];
  i64 row_bytes, chunks; ///< chunks of 16 bytes, of all rows with what follows each
  int across;            ///< of one row
};

template <int Size, int Rank> __global__ void copy_to_padded_rows(const __grid_constant__ padded_rows<Rank> g) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < g.chunks; i += i64(gridDim.x) * blockDim.x) {
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
  constexpr double by_words = 30,
                   shifted = 20; // bytes a nanosecond of a block, of rows that begin at words, and of others
  const double bytes = double(padded_bytes(a));
  const double at_once = blocks < on.multiprocessors ? blocks : on.multiprocessors;
  return bytes * times / (alignment(a) < 4 ? shifted : by_words) > at_once * (launch + 2 * bytes / memory);
}

/// A tensor of Rank dims as a launch takes it: its copy in workspace, or the caller's.
template <int Rank> class padded {
public:
  /// Copies to `workspace`, which becomes what is left of it, if `copies`.
  padded(call &c, const argument &a, bool copies, char *&workspace, api::stream stream) : tensor(a.tensor) {
    if (!c.ok() || !copies || !is_padded_in_workspace(a))
      return;
    int64_t rows = 1, stride = padded_pitch(a) / bytes_of(a.type);
    padded_rows<Rank> g{};
    g.from = reinterpret_cast<const u8 *>(a.data()), g.to = reinterpret_cast<u8 *>(workspace);
    dims[Rank - 1] = a.dim(Rank - 1), strides[Rank - 1] = 1;
    for (int i = 0; i < Rank - 1; ++i) {
      const int d = Rank - 2 - i;
      g.dims[i] = dims[d] = a.dim(d);
      g.strides[i] = bytes_of(a.type, a.stride(d));
      strides[d] = stride;
      stride *= a.dim(d), rows *= a.dim(d);
    }
    g.row_bytes = bytes_of(a.type, dims[Rank - 1]);
    g.across = static_cast<int>(padded_pitch(a) / 16);
    g.chunks = rows * g.across;
    copied = *a.tensor;
    copied.data = workspace, copied.byte_offset = 0, copied.dims = dims, copied.strides = strides;
    tensor = &copied;
    workspace += padded_bytes(a);
    const int size = static_cast<int>(bytes_of(a.type));
    launch(c,
           size == 1   ? reinterpret_cast<const void *>(&copy_to_padded_rows<1, Rank>)
           : size == 2 ? reinterpret_cast<const void *>(&copy_to_padded_rows<2, Rank>)
                       : reinterpret_cast<const void *>(&copy_to_padded_rows<4, Rank>),
           g, stream);
  }
  padded(const padded &) = delete; // `copied` points into this

  const tk_tensor *get() const { return tensor; }

private:
  static void launch(call &c, const void *kernel, padded_rows<Rank> &g, api::stream stream) {
    constexpr int threads = 256;
    constexpr i64 most = 65536;
    const i64 needed = (g.chunks + threads - 1) / threads;
    void *parameters[] = {&g};
    const api::error error =
        api::launch(kernel, static_cast<unsigned>(needed < most ? needed : most), threads, parameters, stream);
    if (error != api::success)
      c.fail(TK_CUDA_ERROR, "%s", api::text_of(error));
  }

  const tk_tensor *tensor;
  tk_tensor copied = {};
  int64_t dims[Rank], strides[Rank];
};

} // namespace tk::host
