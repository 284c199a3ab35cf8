// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar functions on f32 (the hardware's fast forms), f64 (ROCm's device library) and i32.
//
// Largest errors on f32, x in the range where the result is normal; subnormal results of exp2, exp and rcp become 0:
//   exp2 2 ulp; exp 2 ulp + |x| · 2^-24; log2, log 1 ulp, or 2^-22 absolute for x in (0.5, 2); rcp, rsqrt, sqrt 1–3
//   ulp; x / y 3 ulp; tanh, sigmoid, erf 4 ulp; sin, cos 2^-20 absolute for |x| below 10^6.
// Source: "AMD Instinct MI300 Instruction Set Architecture", V_EXP_F32, V_LOG_F32, V_RCP_F32, V_SIN_F32 (in turns) and
// their like.
#pragma once

#include "tk/integer_math.h"

// Of ROCm's device library, which hipcc links.
extern "C" {
__device__ double __ocml_exp2_f64(double);
__device__ double __ocml_exp_f64(double);
__device__ double __ocml_log2_f64(double);
__device__ double __ocml_log_f64(double);
__device__ double __ocml_rsqrt_f64(double);
__device__ double __ocml_tanh_f64(double);
__device__ double __ocml_erf_f64(double);
__device__ double __ocml_sin_f64(double);
__device__ double __ocml_cos_f64(double);
}

namespace tk {

static __device__ constexpr float log2_e = 1.44269504088896341f;
static __device__ constexpr float ln_2 = 0.69314718055994531f;

__device__ __forceinline__ float exp2(float x) { return __builtin_amdgcn_exp2f(x); }
/// The instruction takes subnormal numbers for 0.
__device__ __forceinline__ float log2(float x) {
  const bool tiny = x < 0x1p-126f;
  return __builtin_amdgcn_logf(tiny ? x * 0x1p32f : x) - (tiny ? 32.0f : 0.0f);
}
__device__ __forceinline__ float rcp(float x) { return __builtin_amdgcn_rcpf(x); }
__device__ __forceinline__ float rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ __forceinline__ float sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }
__device__ __forceinline__ float exp(float x) { return exp2(x * log2_e); }
__device__ __forceinline__ float log(float x) { return log2(x) * ln_2; }
__device__ __forceinline__ float sigmoid(float x) { return rcp(1.0f + exp(-x)); }
__device__ __forceinline__ float floor(float x) { return __builtin_floorf(x); }
__device__ __forceinline__ float abs(float x) { return __builtin_fabsf(x); }
__device__ __forceinline__ float max(float x, float y) { return __builtin_fmaxf(x, y); }
__device__ __forceinline__ float min(float x, float y) { return __builtin_fminf(x, y); }
/// x · y + z, rounded once.
__device__ __forceinline__ float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__device__ __forceinline__ double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

/// 1 - 2 / (e^2x + 1), which loses digits near 0: a polynomial there.
__device__ __forceinline__ float tanh(float x) {
  const float s = x * x;
  const float small = x + x * s * (-0.33333333f + s * (0.13333333f + s * (-0.05396825f + s * 0.02186949f)));
  const float large = 1.0f - 2.0f * rcp(exp2(x * (2.0f * log2_e)) + 1.0f);
  return abs(x) < 0.3f ? small : large;
}

/// Near 0 a polynomial, else 1 less 2 to one: interpolated at the Chebyshev points of its interval; 1.3 ulp.
__device__ __forceinline__ float erf(float x) {
  const float s = x * x, t = min(abs(x), 3.95f);
  float near = -0.000596731086f;
  near = fma(near, s, 0.00498890597f);
  near = fma(near, s, -0.0267639942f);
  near = fma(near, s, 0.112817541f);
  near = fma(near, s, -0.376124889f);
  near = fma(near, s, 0.128379151f);
  float far = 2.39328983e-06f;
  far = fma(far, t, -6.70207373e-05f);
  far = fma(far, t, 0.000865414622f);
  far = fma(far, t, -0.00688516768f);
  far = fma(far, t, 0.0381638408f);
  far = fma(far, t, -0.158881262f);
  far = fma(far, t, -0.911472321f);
  far = fma(far, t, -1.63060892f);
  far = fma(far, t, 0.000466258294f);
  return t < 0.92f ? fma(near, x, x) : __builtin_copysignf(1.0f - exp2(far), x);
}
__device__ __forceinline__ float one_plus_erf(float x) { return 1.0f + erf(x); }

/// x as turns in [-1/2, 1/2], for the instructions that take those: x/2π less the nearest whole number, with the part
/// of 1/2π that a float lacks.
__device__ __forceinline__ float as_turns(float x) {
  const float turns = x * 0.15915494309f;
  const float lost = fma(x, 0.15915494309f, -turns) + x * -4.2044e-9f;
  return turns - __builtin_rintf(turns) + lost;
}
__device__ __forceinline__ float sin(float x) { return __builtin_amdgcn_sinf(as_turns(x)); }
__device__ __forceinline__ float cos(float x) { return __builtin_amdgcn_cosf(as_turns(x)); }

/// Scaled, so that the reciprocal of a large y is no subnormal number.
__device__ __forceinline__ float divide(float x, float y) {
  const bool large = abs(y) > 0x1p126f;
  const float scale = large ? 0x1p-24f : 1.0f;
  return x * rcp(y * scale) * scale;
}

/// Correctly rounded, for what is then rounded to few values. The reciprocal of a root is rounded twice.
__device__ __forceinline__ float divide_rn(float x, float y) { return x / y; }
__device__ __forceinline__ float rcp_rn(float x) { return 1.0f / x; }
__device__ __forceinline__ float sqrt_rn(float x) { return __builtin_sqrtf(x); }
__device__ __forceinline__ float rsqrt_rn(float x) { return rcp_rn(sqrt_rn(x)); }

__device__ __forceinline__ double exp2(double x) { return __ocml_exp2_f64(x); }
__device__ __forceinline__ double exp(double x) { return __ocml_exp_f64(x); }
__device__ __forceinline__ double log2(double x) { return __ocml_log2_f64(x); }
__device__ __forceinline__ double log(double x) { return __ocml_log_f64(x); }
__device__ __forceinline__ double rcp(double x) { return 1.0 / x; }
__device__ __forceinline__ double rsqrt(double x) { return __ocml_rsqrt_f64(x); }
__device__ __forceinline__ double sqrt(double x) { return __builtin_sqrt(x); }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ __forceinline__ double tanh(double x) { return __ocml_tanh_f64(x); }
__device__ __forceinline__ double erf(double x) { return __ocml_erf_f64(x); }
__device__ __forceinline__ double one_plus_erf(double x) { return 1.0 + erf(x); }
__device__ __forceinline__ double sin(double x) { return __ocml_sin_f64(x); }
__device__ __forceinline__ double cos(double x) { return __ocml_cos_f64(x); }
__device__ __forceinline__ double floor(double x) { return __builtin_floor(x); }
__device__ __forceinline__ double abs(double x) { return __builtin_fabs(x); }
__device__ __forceinline__ double max(double x, double y) { return __builtin_fmax(x, y); }
__device__ __forceinline__ double min(double x, double y) { return __builtin_fmin(x, y); }
__device__ __forceinline__ double divide(double x, double y) { return x / y; }

} // namespace tk
