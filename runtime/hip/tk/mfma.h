// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix instructions of AMD GPUs by element type, size of the tile and bytes that a lane gives of each operand.
// Sources: "AMD Instinct MI200", "MI300" and "CDNA4 Instruction Set Architecture", "Matrix Arithmetic Instructions";
// Clang, BuiltinsAMDGPU.
#pragma once

#include "tk/types.h"
#include "tk/words.h"

namespace tk {

template <class T, int Count> struct vector_type {
  using type [[gnu::vector_size(Count * sizeof(T))]] = T;
};
template <class T, int Count> using vector = typename vector_type<T, Count>::type;

/// Bytes of an operand that a lane gives to the widest instruction for T.
template <class T> constexpr int mfma_bytes() {
  if constexpr (is_float16<T>)
    return gfx >= 950 ? 16 : 8;
  else if constexpr (same<T, i8>)
    return gfx >= 950 ? 16 : gfx >= 942 ? 8 : 4;
  else if constexpr (same<T, tf32>)
    return gfx == 942 ? 8 : 4;
  else
    return same<T, float> ? 4 : 8;
}

/// The bits of `words` as a V.
template <class V> __device__ __forceinline__ V operand(const u32 *words) {
  struct raw {
    u32 each[sizeof(V) / 4];
  } bits;
#pragma unroll
  for (int i = 0; i < int(sizeof(V) / 4); ++i)
    bits.each[i] = words[i];
  return __builtin_bit_cast(V, bits);
}

/// The instruction on the accumulator of a Tile × Tile block, `a` and `b` in the instruction's order.
template <class TA, class TB, int Tile, int Bytes> struct mfma_instruction;

template <> struct mfma_instruction<bf16, bf16, 32, 8> {
  using type = vector<short, 4>;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<half, half, 32, 8> {
  using type = vector<_Float16, 4>;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<bf16, bf16, 32, 16> {
  using type = vector<__bf16, 8>;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<half, half, 32, 16> {
  using type = vector<_Float16, 8>;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<bf16, bf16, 16, 8> {
  using type = vector<short, 4>;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<half, half, 16, 8> {
  using type = vector<_Float16, 4>;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<bf16, bf16, 16, 16> {
  using type = vector<__bf16, 8>;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<half, half, 16, 16> {
  using type = vector<_Float16, 8>;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<float, float, 32, 4> {
  using type = float;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<tf32, tf32, 32, 4> {
  using type = float;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<tf32, tf32, 32, 8> {
  using type = vector<float, 2>;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x4_xf32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<float, float, 16, 4> {
  using type = float;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<tf32, tf32, 16, 4> {
  using type = float;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<tf32, tf32, 16, 8> {
  using type = vector<float, 2>;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 32, 4> {
  using type = int;
  __device__ __forceinline__ static vector<int, 16> run(type a, type b, vector<int, 16> c) {
    return __builtin_amdgcn_mfma_i32_32x32x8i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 32, 8> {
  using type = long;
  __device__ __forceinline__ static vector<int, 16> run(type a, type b, vector<int, 16> c) {
    return __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 32, 16> {
  using type = vector<int, 4>;
  __device__ __forceinline__ static vector<int, 16> run(type a, type b, vector<int, 16> c) {
    return __builtin_amdgcn_mfma_i32_32x32x32_i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 16, 4> {
  using type = int;
  __device__ __forceinline__ static vector<int, 4> run(type a, type b, vector<int, 4> c) {
    return __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 16, 8> {
  using type = long;
  __device__ __forceinline__ static vector<int, 4> run(type a, type b, vector<int, 4> c) {
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<i8, i8, 16, 16> {
  using type = vector<int, 4>;
  __device__ __forceinline__ static vector<int, 4> run(type a, type b, vector<int, 4> c) {
    return __builtin_amdgcn_mfma_i32_16x16x64_i8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e4m3, f8e4m3, 32, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e4m3, f8e5m2, 32, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e5m2, f8e4m3, 32, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e5m2, f8e5m2, 32, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 16> run(type a, type b, vector<float, 16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e4m3, f8e4m3, 16, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e4m3, f8e5m2, 16, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e5m2, f8e4m3, 16, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<f8e5m2, f8e5m2, 16, 8> {
  using type = long;
  __device__ __forceinline__ static vector<float, 4> run(type a, type b, vector<float, 4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, 0, 0, 0);
  }
};
template <> struct mfma_instruction<double, double, 16, 8> {
  using type = double;
  __device__ __forceinline__ static vector<double, 4> run(type a, type b, vector<double, 4> c) {
    return __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0);
  }
};

/// d += a · b, transposed: d[Tile, Tile] += left · right in mfma_layout.
template <class Left, class Right, int Tile, int Bytes, class E>
__device__ __forceinline__ void mfma(E *d, const u32 *left, const u32 *right) {
  constexpr int count = Tile * Tile / 64;
  vector<E, count> sum;
#pragma unroll
  for (int i = 0; i < count; ++i)
    sum[i] = d[i];
  using instruction = mfma_instruction<Right, Left, Tile, Bytes>;
  using V = typename instruction::type;
  sum = instruction::run(operand<V>(right), operand<V>(left), sum);
#pragma unroll
  for (int i = 0; i < count; ++i)
    d[i] = sum[i];
}

} // namespace tk
