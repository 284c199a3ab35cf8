// Calls of a file for several GPUs, on whichever there is.
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

template <class T> T *upload(const std::vector<T> &values) {
  T *data = nullptr;
  cudaMalloc(reinterpret_cast<void **>(&data), values.size() * sizeof(T));
  cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return data;
}

void say(const char *what, const tk_status &status) { std::printf("%s: %d %s\n", what, status.code, status.message); }

} // namespace

int main() {
  constexpr uint16_t one = 0x3f80; // in bf16
  const std::vector<uint16_t> ones(100 * 100, one);
  const uint16_t *a = upload(ones), *b = upload(ones);
  std::vector<float> c(100 * 100, -1);
  float *result = upload(c);
  say("products", sm_80({a, tk::element::bf16, {100, 100}}, {b, tk::element::bf16, {100, 100}},
                        {result, tk::element::f32, {100, 100}}, nullptr));
  cudaDeviceSynchronize();
  cudaMemcpy(c.data(), result, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g %g\n", double(c.front()), double(c.back()));

  std::vector<float> x(300, 1.5f);
  float *from = upload(x), *to = upload(x);
  void *workspace = nullptr;
  cudaMalloc(&workspace, 4096);
  say("four times", four_times({from, tk::element::f32, {300}}, {to, tk::element::f32, {300}}, workspace, 4096, nullptr));
  cudaDeviceSynchronize();
  cudaMemcpy(x.data(), to, x.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", double(x.back()));
}
