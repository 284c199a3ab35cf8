// Element-wise functions of a user.
#pragma once

__device__ inline float squared_relu(float x) {
  const float positive = x > 0 ? x : 0;
  return positive * positive;
}
__device__ inline float scaled(float x, int by) { return x * by; }
