// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product with operands of any pitch and any first element, with workspace and without: sums of small integers are
// exact before they are rounded.
#include EMITTED
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using u16 = unsigned short;

/// To the nearest: small integers as they are.
u16 bf16_of(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float value_of(u16 x) {
  const unsigned bits = unsigned(x) << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
int element(int r, int c, int seed) { return (r * 7 + c * 3 + seed) % 5 - 2; }

/// Rows of `columns` elements, `pitch` apart, from element `begin` of their memory on.
struct matrix {
  u16 *memory = nullptr;
  int rows, columns, pitch, begin;

  matrix(int rows, int columns, int pad, int begin, int seed)
      : rows(rows), columns(columns), pitch(columns + pad), begin(begin) {
    std::vector<u16> host(size(), 0x7fff); // NaN between rows
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        host[size_t(begin) + size_t(r) * pitch + c] = bf16_of(float(element(r, c, seed)));
    cudaMalloc(&memory, 2 * size());
    cudaMemcpy(memory, host.data(), 2 * size(), cudaMemcpyHostToDevice);
  }
  ~matrix() { cudaFree(memory); }
  size_t size() const { return size_t(begin) + size_t(rows) * pitch; }
  tk::tensor tensor() const { return {memory + begin, tk::element::bf16, {rows, columns}, {pitch, 1}}; }
};

int wrong(const matrix &c, int k) {
  std::vector<u16> host(c.size());
  cudaMemcpy(host.data(), c.memory, 2 * c.size(), cudaMemcpyDeviceToHost);
  int count = 0;
  for (int m = 0; m < c.rows; ++m)
    for (int n = 0; n < c.columns; ++n) {
      int sum = 0;
      for (int i = 0; i < k; ++i)
        sum += element(m, i, 1) * element(i, n, 2);
      count += value_of(host[size_t(m) * c.pitch + n]) != value_of(bf16_of(float(sum)));
    }
  return count;
}

void try_product(int m, int n, int k, int pad_a, int pad_b, int begin_b) {
  const matrix a(m, k, pad_a, 0, 1), b(k, n, pad_b, begin_b, 2);
  const matrix c(m, n, 0, 0, 0), d(m, n, 0, 0, 0);
  const int64_t bytes = product_workspace_bytes(a.tensor(), b.tensor(), c.tensor());
  char *workspace = nullptr;
  cudaMalloc(&workspace, size_t(bytes) + 1);
  cudaMemset(workspace, 0xff, size_t(bytes) + 1);
  const tk_status less = product_with_workspace(a.tensor(), b.tensor(), c.tensor(), workspace, bytes - 1, nullptr);
  const tk_status status = product_with_workspace(a.tensor(), b.tensor(), c.tensor(), workspace, bytes, nullptr);
  const tk_status without = ::product(a.tensor(), b.tensor(), d.tensor(), nullptr);
  cudaDeviceSynchronize();
  std::vector<unsigned char> left(size_t(bytes) + 1);
  cudaMemcpy(left.data(), workspace, left.size(), cudaMemcpyDeviceToHost);
  const bool copies = std::any_of(left.begin(), left.end(), [](unsigned char byte) { return byte != 0xff; });
  printf("%dx%dx%d: %lld bytes, %s, %s, status %d %d, wrong %d %d\n", m, n, k, static_cast<long long>(bytes),
         less.code == TK_BAD_ARGUMENT ? less.message : "enough", copies ? "copied" : "not copied", status.code, without.code, wrong(c, k), wrong(d, k));
  cudaFree(workspace);
}

} // namespace

int main() {
  try_product(70, 72, 64, 0, 0, 0); // all suits
  try_product(70, 67, 65, 0, 0, 0); // neither
  try_product(33, 72, 67, 0, 0, 0); // b does
  try_product(64, 64, 64, 3, 0, 0); // rows apart
  try_product(64, 64, 64, 0, 0, 1); // another first element
  try_product(1, 1, 1, 0, 0, 0);
  try_product(70, 67, 701, 0, 0, 0); // long enough for copies
  try_product(70, 72, 701, 0, 0, 0); // of a alone
  const matrix a(8, 8, 0, 0, 1), b(9, 8, 0, 0, 2);
  printf("%lld %s\n", static_cast<long long>(product_workspace_bytes(a.tensor(), b.tensor(), a.tensor())),
         product_with_workspace(a.tensor(), b.tensor(), a.tensor(), nullptr, 0, nullptr).message);
}
