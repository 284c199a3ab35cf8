// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar functions on f32 (the hardware's fast forms), f64 (the CUDA library's) and i32.
//
// Largest errors on f32, x in the range where the result is normal; subnormal results of exp2, exp and rcp become 0:
//   exp2 2 ulp; exp 2 ulp + |x| · 2^-24; log2, log 1 ulp, or 2^-22 absolute for x in (0.5, 2); rcp, rsqrt, sqrt 1–3
//   ulp; x / y 2 ulp (of a tile by its column 3, and y below 2^-128 is 0); tanh, sigmoid, erf 4 ulp; 1 + erf x 2^-22
//   absolute; sin, cos 2^-20 absolute for |x| below 10^6.
// Source: PTX ISA, "ex2", "lg2", "rcp", "sin" and their like.
#pragma once

#include "tk/integer_math.h"

namespace tk {

static __device__ constexpr float log2_e = 1.44269504088896341f;
static __device__ constexpr float ln_2 = 0.69314718055994531f;

__device__ __forceinline__ float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float log2(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rsqrt(float x) {
  float y;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float sqrt(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float exp(float x) { return exp2(x * log2_e); }
__device__ __forceinline__ float log(float x) { return log2(x) * ln_2; }
__device__ __forceinline__ float sigmoid(float x) { return rcp(1.0f + exp(-x)); }

/// 1 - 2 / (e^2x + 1), which loses digits near 0: a polynomial there.
__device__ __forceinline__ float tanh(float x) {
  const float s = x * x;
  const float small = x + x * s * (-0.33333333f + s * (0.13333333f + s * (-0.05396825f + s * 0.02186949f)));
  const float large = 1.0f - 2.0f * rcp(exp2(x * (2.0f * log2_e)) + 1.0f);
  return ::fabsf(x) < 0.3f ? small : large;
}
__device__ __forceinline__ float erf(float x) { return ::erff(x); }
/// 1 + erf x: erf of |x| is 1 - erfc |x|, and has the sign of x. log2 erfc t is nearly t times a polynomial,
/// here the one of degree 7 of least error in erfc for t below 4, 1.6e-8; from there on it falls for ever.
__device__ __forceinline__ float one_plus_erf(float x) {
  const float t = ::fabsf(x);
  float p = -4.53628527e-05f;
  p = ::fmaf(p, t, 0.000445540471f);
  p = ::fmaf(p, t, -0.00148954173f);
  p = ::fmaf(p, t, -0.000774475688f);
  p = ::fmaf(p, t, 0.0282535553f);
  p = ::fmaf(p, t, -0.148481563f);
  p = ::fmaf(p, t, -0.918416381f);
  p = ::fmaf(p, t, -1.62790859f);
  const float complement = exp2(p * t);
  return 1.0f + ::copysignf(1.0f - complement, x);
}

/// `x` less a multiple of 2π, in [-π, π]: 2π in three parts, the first two short enough that products are exact.
__device__ __forceinline__ float reduce_angle(float x) {
  const float turns = ::rintf(x * 0.15915494309f);
  const float r = ::fmaf(turns, -6.28125f, x);
  return ::fmaf(turns, -3.0199159e-7f, ::fmaf(turns, -1.9350051879882812e-3f, r));
}
__device__ __forceinline__ float sin(float x) {
  float y;
  asm("sin.approx.f32 %0, %1;" : "=f"(y) : "f"(reduce_angle(x)));
  return y;
}
__device__ __forceinline__ float cos(float x) {
  float y;
  asm("cos.approx.f32 %0, %1;" : "=f"(y) : "f"(reduce_angle(x)));
  return y;
}
__device__ __forceinline__ float floor(float x) { return ::floorf(x); }
__device__ __forceinline__ float abs(float x) { return ::fabsf(x); }
__device__ __forceinline__ float max(float x, float y) { return ::fmaxf(x, y); }
__device__ __forceinline__ float min(float x, float y) { return ::fminf(x, y); }
__device__ __forceinline__ float divide(float x, float y) {
  float z;
  asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

/// Correctly rounded, for what is then rounded to few values. The reciprocal of a root is rounded twice.
__device__ __forceinline__ float divide_rn(float x, float y) {
  float z;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
__device__ __forceinline__ float rcp_rn(float x) {
  float y;
  asm("rcp.rn.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float sqrt_rn(float x) {
  float y;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rsqrt_rn(float x) { return rcp_rn(sqrt_rn(x)); }

__device__ __forceinline__ double exp2(double x) { return ::exp2(x); }
__device__ __forceinline__ double exp(double x) { return ::exp(x); }
__device__ __forceinline__ double log2(double x) { return ::log2(x); }
__device__ __forceinline__ double log(double x) { return ::log(x); }
__device__ __forceinline__ double rcp(double x) { return 1.0 / x; }
__device__ __forceinline__ double rsqrt(double x) { return ::rsqrt(x); }
__device__ __forceinline__ double sqrt(double x) { return ::sqrt(x); }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
__device__ __forceinline__ double tanh(double x) { return ::tanh(x); }
__device__ __forceinline__ double erf(double x) { return ::erf(x); }
__device__ __forceinline__ double one_plus_erf(double x) { return 1.0 + ::erf(x); }
__device__ __forceinline__ double sin(double x) { return ::sin(x); }
__device__ __forceinline__ double cos(double x) { return ::cos(x); }
__device__ __forceinline__ double floor(double x) { return ::floor(x); }
__device__ __forceinline__ double abs(double x) { return ::fabs(x); }
__device__ __forceinline__ double max(double x, double y) { return ::fmax(x, y); }
__device__ __forceinline__ double min(double x, double y) { return ::fmin(x, y); }
__device__ __forceinline__ double divide(double x, double y) { return x / y; }

/// x · y + z, rounded once.
__device__ __forceinline__ float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
__device__ __forceinline__ double fma(double x, double y, double z) { return ::fma(x, y, z); }

} // namespace tk
