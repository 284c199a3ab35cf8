// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scale_rows of test/plan/align-rows.tk on tensors that begin at any element of their memory, which ends where they do: what
// lies beside rows may be read if it belongs to the tensor, and is never written.
#include EMITTED
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using u16 = unsigned short;

/// Small integers are the upper half of their f32.
u16 bf16_of(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return u16(bits >> 16);
}

struct rows {
  void *memory = nullptr;
  std::vector<u16> host;
  int begin, count, columns;

  rows(int begin, int count, int columns, u16 value)
      : host(size_t(begin) + size_t(count) * columns, value), begin(begin), count(count), columns(columns) {
    cudaMalloc(&memory, 2 * host.size());
  }
  ~rows() { cudaFree(memory); }
  void to_device() { cudaMemcpy(memory, host.data(), 2 * host.size(), cudaMemcpyHostToDevice); }
  void to_host() { cudaMemcpy(host.data(), memory, 2 * host.size(), cudaMemcpyDeviceToHost); }
  u16 &at(int i, int c) { return host[size_t(begin) + size_t(i) * columns + c]; }
};

int wrong(int columns, int x_begin, int y_begin) {
  constexpr int count = 9;
  rows x(x_begin, count, columns, 0), y(y_begin, count, columns, 0x7fc0);
  std::vector<int> values(size_t(count) * columns);
  for (int i = 0; i < count; ++i)
    for (int c = 0; c < columns; ++c) {
      values[size_t(i) * columns + c] = rand() % 100 - 50;
      x.at(i, c) = bf16_of(float(values[size_t(i) * columns + c]));
    }
  x.to_device();
  y.to_device();
  int64_t dims[2] = {count, columns}, strides[2] = {columns, 1};
  const auto tensor_of = [&](rows &of) {
    return tk_tensor{static_cast<u16 *>(of.memory) + of.begin, 2, 0, 2, 4, 16, 1, dims, strides, 0};
  };
  const tk_tensor from = tensor_of(x), to = tensor_of(y);
  const tk_status status = scale_rows(&from, &to, nullptr);
  if (status.code != 0)
    printf("%s\n", status.message);
  y.to_host();
  int errors = 0;
  for (int b = 0; b < y_begin; ++b)
    errors += y.host[b] != 0x7fc0;
  for (int i = 0; i < count; ++i) {
    int top = -1000;
    for (int c = 0; c < columns; ++c)
      top = std::max(top, values[size_t(i) * columns + c]);
    for (int c = 0; c < columns; ++c)
      errors += y.at(i, c) != bf16_of(float(values[size_t(i) * columns + c] - top));
  }
  return errors;
}

} // namespace

int main() {
  int cases = 0;
  for (const int columns : {1, 5, 8, 1019, 1024, 1025, 3001, 6005})
    for (int x = 0; x < 8; x += 1 + (columns > 1000))
      for (const int y : {0, 3, x}) {
        ++cases;
        if (const int errors = wrong(columns, x, y))
          printf("%d columns, begins at %d and %d: %d wrong\n", columns, x, y, errors);
      }
  printf("%d cases\n", cases);
}
