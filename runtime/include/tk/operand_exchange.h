// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An accumulator's layout becomes that of a left operand of wgmma in registers, for types that are not 16 bits wide.
#pragma once

#include "tk/fragment.h"

namespace tk {

/// Of the four threads of a row in mma_layout, which one an exchange of neighbouring columns asks first.
__device__ __forceinline__ int exchange_partner() { return threadIdx.x % 2 * 2 + threadIdx.x / 2 % 2; }

/// The tile as a left operand in registers. Threads of a row hold pairs of columns, and the operand wants four
/// neighbours in each: both halves come from one word each of two other threads. By whole warps.
template <class T, int M, int K>
  requires(sizeof(T) == 1)
__device__ __forceinline__ fragment<T, M, K, operand_layout<1>> as_operand(const fragment<T, M, K, mma_layout> &x) {
  static_assert(K % 16 == 0, "columns in steps of 16");
  fragment<T, M, K, operand_layout<1>> result;
  const int partner = exchange_partner();
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
  for (int w = 0; w < x.data.word_count; w += 2) {
    const u32 first = x.data.words[w], second = x.data.words[w + 1];
    const u32 p = __shfl_sync(~0u, odd ? second : first, partner, 4);
    const u32 q = __shfl_sync(~0u, odd ? first : second, partner ^ 1, 4);
    result.data.words[w] = __byte_perm(p, q, upper ? 0x1054 : 0x5410);
    result.data.words[w + 1] = __byte_perm(p, q, upper ? 0x3276 : 0x7632);
  }
  return result;
}

/// The same for tf32: threads hold two neighbouring columns, and the operand wants columns that are four apart.
template <int M, int K>
__device__ __forceinline__ fragment<tf32, M, K, operand_layout<4>>
as_operand(const fragment<tf32, M, K, mma_layout> &x) {
  fragment<tf32, M, K, operand_layout<4>> result;
  const int partner = exchange_partner();
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
  for (int i = 0; i < x.size; i += 2) {
    const u32 first = x.data.values[i].bits, second = x.data.values[i + 1].bits;
    const u32 p = __shfl_sync(~0u, upper ? second : first, partner, 4);
    const u32 q = __shfl_sync(~0u, upper ? first : second, partner ^ 2, 4);
    // The accumulator's pair (2c, 2c + 1) of a row is at i, the operand's (c, c + 4) at i and i + 2, next to its other
    // row.
    const int low = i / 4 * 4 + i / 2 % 2;
    result.data.values[low].bits = odd ? q : p;
    result.data.values[low + 2].bits = odd ? p : q;
  }
  return result;
}

} // namespace tk
