// Calls that need a GPU.
#include <cstdio>
#include <cuda_bf16.h>
#include <vector>

namespace {

template <class T> T *upload(const std::vector<T> &values) {
  T *data = nullptr;
  cudaMalloc(reinterpret_cast<void **>(&data), values.size() * sizeof(T));
  cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return data;
}

void say(const char *what, const tk_status &status) { std::printf("%s: %d %s\n", what, status.code, status.message); }

float first(const float *data) {
  float value = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

} // namespace

int main() {
  const std::vector<__nv_bfloat16> ones(64 * 64, __float2bfloat16(1));
  __nv_bfloat16 *a = upload(ones), *b = upload(ones);
  float *c = upload(std::vector<float>(64 * 64, -1.0f));
  say("ones", product({a, {8, 4}}, {b, {4, 8}}, {c, {8, 8}}, nullptr));
  std::printf("%g\n", first(c));
  float *untouched = upload(std::vector<float>(64, -1.0f));
  say("no rows", product({a, {0, 4}}, {b, {4, 8}}, {untouched, {0, 8}}, nullptr));
  std::printf("%g\n", first(untouched));
  say("nothing to contract", product({a, {8, 0}}, {b, {0, 8}}, {c, {8, 8}}, nullptr));
  std::printf("%g\n", first(c));
  say("no groups", sums({c, {0, 8}}, {untouched, {0, 8}}, nullptr));
  say("another device", product({a, {8, 4}, {}, 7}, {b, {4, 8}}, {c, {8, 8}}, nullptr));
  tk::tensor on_host(a, {8, 4});
  tk_tensor raw = *on_host.get();
  raw.device_type = 1;
  const tk::tensor right(b, {4, 8}), result(c, {8, 8});
  say("host memory", product(&raw, right.get(), result.get(), nullptr));
}
