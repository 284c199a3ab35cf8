
// Calls that go wrong; nothing is read through the pointers.
#include <cstdio>
#include <initializer_list>

namespace {

struct view {
  int64_t dims[3] = {}, strides[3] = {};
  tk_tensor tensor = {};

  view(uint64_t address, int code, int bits, std::initializer_list<int64_t> sizes) {
    int rank = 0;
    for (int64_t size : sizes)
      dims[rank++] = size;
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d)
      strides[d] = stride, stride *= dims[d];
    tensor.data = reinterpret_cast<void *>(address);
    tensor.device_type = 2;
    tensor.rank = rank;
    tensor.type_code = static_cast<uint8_t>(code), tensor.type_bits = static_cast<uint8_t>(bits);
    tensor.type_lanes = 1;
    tensor.dims = dims, tensor.strides = strides;
  }
};
view bf16(uint64_t address, std::initializer_list<int64_t> sizes) { return {address, 4, 16, sizes}; }
view f16(uint64_t address, std::initializer_list<int64_t> sizes) { return {address, 2, 16, sizes}; }
view f32(uint64_t address, std::initializer_list<int64_t> sizes) { return {address, 2, 32, sizes}; }

void call(const char *what, view *x, view a, view y, float scale = 1) {
  a.tensor.dims = a.dims, a.tensor.strides = a.strides;
  y.tensor.dims = y.dims, y.tensor.strides = y.strides;
  if (x)
    x->tensor.dims = x->dims, x->tensor.strides = x->strides;
  const tk_status status = grouped(x ? &x->tensor : nullptr, &a.tensor, &y.tensor, scale, nullptr);
  std::printf("%s: %d %s\n", what, status.code, status.message);
}

} // namespace

int main() {
  view x = bf16(0x100000, {4, 24});
  const view a = f32(0x200000, {3}), y = bf16(0x300000, {4, 24});
  call("null", nullptr, a, y);
  call("rank", &x, f32(0x200000, {3, 1}), y);
  call("type", &x, a, f16(0x300000, {4, 24}));
  call("other type", &x, view(0x200000, 2, 64, {3}), y);
  view wrong = f32(0x100000, {4, 24});
  call("no type of T", &wrong, a, f32(0x300000, {4, 24}));
  view wide = bf16(0x100000, {4, 25});
  call("dim", &wide, a, y);
  call("symbol", &x, a, bf16(0x300000, {6, 24}));
  view stepped = x;
  stepped.strides[1] = 2;
  call("contiguous", &stepped, a, y);
  call("condition", &x, a, y, 0);
  view odd = bf16(0x100000, {3, 24});
  call("condition", &odd, a, bf16(0x300000, {3, 24}));
  call("overlap", &x, a, bf16(0x100010, {4, 24}));
  view left = x, right = bf16(0x100000 + 48, {4, 24});
  left.strides[0] = right.strides[0] = 48;
  call("side by side", &left, a, right);
  view host = x;
  host.tensor.device_type = 1;
  call("host memory", &host, a, y);
  call("misaligned", &x, f32(0x200002, {3}), y);
  view large = bf16(0x100000, {3000000000, 24});
  call("too large", &large, a, y);
  view nowhere = bf16(0, {4, 24});
  call("no data", &nowhere, a, y);
  tk_tensor bare = x.tensor;
  bare.dims = nullptr;
  const tk_status status = grouped(&bare, &bare, &bare, 1, nullptr);
  std::printf("no dims: %d %s\n", status.code, status.message);
  view spread = y;
  spread.strides[0] = 0;
  call("broadcast", &x, a, spread);
  // The C++ overload, with dims of its own.
  const auto *bf16s = reinterpret_cast<const __nv_bfloat16 *>(0x100000);
  const auto *results = reinterpret_cast<const __nv_bfloat16 *>(0x300000);
  const auto *floats = reinterpret_cast<const float *>(0x200000);
  const auto says = [](const char *what, const tk_status &status) { std::printf("%s: %d %s\n", what, status.code, status.message); };
  says("C++ dims", grouped({bf16s, {4, 24}}, {floats, {2}}, {results, {4, 24}}, 1.0f, nullptr));
  says("C++ null", grouped({bf16s, {4, 24}}, nullptr, {results, {4, 24}}, 1.0f, nullptr));
  says("C++ strides", grouped({bf16s, {4, 24}, {24}}, {floats, {3}}, {results, {4, 24}}, 1.0f, nullptr));
}
