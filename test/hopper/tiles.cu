// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's verbs on one block of threads, against loops on the CPU: loads and stores with edges, reductions,
// gathers, atomics, shared tiles, in both layouts; and matrix products of every type and majorness.
#include "tk/atomic.h"
#include "tk/copy.h"
#include "tk/elementwise.h"
#include "tk/memory.h"
#include "tk/philox.h"
#include "tk/product.h"
#include "tk/reduce.h"
#include "tk/scan.h"
#include "tk/shared_copy.h"
#include "tk/sync.h"
#include "tk/wgmma.h"

#include "support.h"

#include <functional>

namespace {

int failures = 0;

void expect(bool good, const char *what) {
  std::printf("%-60s %s\n", what, good ? "ok" : "WRONG");
  failures += !good;
}
bool near(double x, double y, double tolerance = 1e-5) { return std::abs(x - y) <= tolerance * (1 + std::abs(y)); }

/// Everything that reductions and scans give for a 64×64 tile of which 50×41 elements exist.
struct results {
  float sum[64], largest[64], smallest[64], product[64], down[64], down_largest[64];
  int where_largest[64], where_down[64];
  float vector_sum, vector_running[64], vector_down_sum,
      vector_down_running[64]; // of the first row and the first column
  int vector_where, vector_down_where;
  float copy[64 * 64], running[64 * 64], running_down[64 * 64], scattered[64], total[64];
};

template <class Layout> __global__ void reductions(const float *x, results *out) {
  using tile = tk::fragment<float, 64, 64, Layout>;
  using column = tk::column<float, 64, Layout>;
  __shared__ tk::scratch_memory<4, 64> memory;
  tk::scratch<4, 64> scratch{memory, 1};
  const tk::view<const float, 4> from{x, 41, 50, 41};
  const auto v = tk::load<tile>(from);
  const auto exists = tk::row_index<tile>() < 50 && tk::col_index<tile>() < 41;
  tk::store(tk::view<float>{out->copy, 64, 64, 64}, v);
  tk::store(tk::view<float>{out->sum, 1, 64, 1}, tk::row_sum(v, scratch));
  tk::store(tk::view<float>{out->largest, 1, 64, 1}, tk::row_max(tk::where(exists, v, -tk::inf), scratch));
  tk::store(tk::view<float>{out->smallest, 1, 64, 1}, tk::row_min(tk::where(exists, v, tk::inf), scratch));
  tk::store(tk::view<float>{out->product, 1, 64, 1}, tk::row_prod(tk::where(exists, v, 1.0f), scratch));
  tk::store(tk::view<int>{out->where_largest, 1, 64, 1}, tk::row_argmax(tk::where(exists, v, -tk::inf), scratch));
  tk::store(tk::view<float>{out->down, 0, 1, 64}, tk::col_sum(v, scratch));
  tk::store(tk::view<float>{out->down_largest, 0, 1, 64}, tk::col_max(tk::where(exists, v, -tk::inf), scratch));
  tk::store(tk::view<int>{out->where_down, 0, 1, 64}, tk::col_argmax(tk::where(exists, v, -tk::inf), scratch));
  tk::store(tk::view<float>{out->running, 64, 64, 64}, tk::cumsum_cols(v, scratch));
  tk::store(tk::view<float>{out->running_down, 64, 64, 64}, tk::cumsum_rows(v, scratch));
  const auto across = tk::load<tk::row<float, 64, Layout>>(tk::view<const float>{x, 0, 1, 41});
  const auto down = tk::load<column>(tk::view<const float>{x, 41, 50, 1});
  const float across_sum = tk::row_sum(across, scratch), down_sum = tk::col_sum(down, scratch);
  const int across_where = tk::row_argmax(across, scratch), down_where = tk::col_argmax(down, scratch);
  if (threadIdx.x == 77) {
    out->vector_sum = across_sum, out->vector_down_sum = down_sum;
    out->vector_where = across_where, out->vector_down_where = down_where;
  }
  tk::store(tk::view<float>{out->vector_running, 0, 1, 64}, tk::cumsum_cols(across, scratch));
  tk::store(tk::view<float>{out->vector_down_running, 1, 64, 1}, tk::cumsum_rows(down, scratch));
  const auto rows = tk::row_index<column>();
  tk::scatter(out->scattered, tk::cast<tk::i64>(63 - rows), rows < 64,
              tk::load<column>(tk::view<const float>{x, 41, 50, 1}));
  tk::atomic_add(tk::view<float>{out->total, 0, 1, 64}, tk::col_sum(v, scratch));
  tk::atomic_add(out->total, tk::cast<tk::i64>(rows * 0), rows < 64, tk::full<column>(1.0f));
}

template <class Layout> void check_reductions(const char *name) {
  support::buffer<float> x(50 * 41);
  support::randomize(x, 3);
  support::buffer<results> out(1);
  support::check(cudaMemset(&out.data->total, 0, sizeof(results::total)), "memset");
  reductions<Layout><<<1, 128>>>(x.data, out.data);
  support::check(cudaDeviceSynchronize(), "reductions");
  const auto host = x.host();
  const results got = out.host()[0];
  bool copy = true, sum = true, extremes = true, product = true, down = true, scans = true, scatters = true,
       atomics = true;
  const auto at = [&](int r, int c) { return r < 50 && c < 41 ? host[r * 41 + c] : 0.0f; };
  for (int r = 0; r < 64; ++r) {
    double s = 0, p = 1, big = -HUGE_VAL, small = HUGE_VAL;
    int where = 0;
    for (int c = 0; c < 64; ++c) {
      s += at(r, c);
      copy = copy && got.copy[r * 64 + c] == at(r, c);
      scans = scans && near(got.running[r * 64 + c], s);
      if (r < 50 && c < 41) {
        p *= at(r, c);
        if (at(r, c) > big)
          big = at(r, c), where = c;
        small = std::min(small, double(at(r, c)));
      }
    }
    sum = sum && near(got.sum[r], s);
    product = product && near(got.product[r], p);
    extremes = extremes && got.largest[r] == big && got.smallest[r] == small && got.where_largest[r] == where;
    scatters = scatters && got.scattered[63 - r] == at(r, 0);
  }
  for (int c = 0; c < 64; ++c) {
    double s = 0, big = -HUGE_VAL;
    int where = 0;
    for (int r = 0; r < 64; ++r) {
      s += at(r, c);
      scans = scans && near(got.running_down[r * 64 + c], s);
      if (r < 50 && c < 41 && at(r, c) > big)
        big = at(r, c), where = r;
    }
    down = down && near(got.down[c], s) && got.down_largest[c] == big && got.where_down[c] == where;
    atomics = atomics && near(got.total[c], s + (c == 0 ? 64 : 0));
  }
  double s = 0, t = 0;
  int s_where = 0, t_where = 0;
  bool vectors = true;
  for (int i = 0; i < 64; ++i) {
    s += at(0, i), t += at(i, 0);
    s_where = at(0, i) > at(0, s_where) ? i : s_where;
    t_where = at(i, 0) > at(t_where, 0) ? i : t_where;
    vectors = vectors && near(got.vector_running[i], s) && near(got.vector_down_running[i], t);
  }
  vectors = vectors && near(got.vector_sum, s) && near(got.vector_down_sum, t) && got.vector_where == s_where &&
            got.vector_down_where == t_where;
  char text[96];
  for (auto [good, what] : {std::pair{copy, "load and store with edges"},
                            {sum, "row_sum"},
                            {product, "row_prod"},
                            {extremes, "row_max, row_min, row_argmax"},
                            {down, "col_sum, col_max, col_argmax"},
                            {scans, "cumsum along both axes"},
                            {scatters, "scatter"},
                            {atomics, "atomic_add"},
                            {vectors, "reductions and scans of a row and of a column"}}) {
    std::snprintf(text, sizeof text, "%s: %s", name, what);
    expect(good, text);
  }
}

/// d = a · b for one 64×N×K product; operands are put into shared memory by the cooperative copy, A optionally from
/// registers, either stored transposed.
template <class TA, class TB, int N, int K, bool AT, bool BT, bool Registers, int Swizzle>
__global__ void product(const TA *a, const TB *b, float *d) {
  using acc_type = std::conditional_t<tk::same<TA, tk::i8> || tk::same<TA, tk::u8>, int, float>;
  using a_tile = tk::shared_tile<TA, AT ? K : 64, AT ? 64 : K, Swizzle>;
  using b_tile = tk::shared_tile<TB, BT ? N : K, BT ? K : N, Swizzle>;
  struct shared_memory {
    a_tile a;
    b_tile b;
  };
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  tk::copy_to_shared<128>(shared.a, tk::view<const TA>{a, a_tile::cols, a_tile::rows, a_tile::cols}, threadIdx.x);
  tk::copy_to_shared<128>(shared.b, tk::view<const TB>{b, b_tile::cols, b_tile::rows, b_tile::cols}, threadIdx.x);
  tk::fence_proxy_async();
  tk::sync_block();
  tk::fragment<acc_type, 64, N, tk::mma_layout> acc;
  const auto times = [&](const auto &right) {
    if constexpr (Registers) {
      auto left = tk::load_shared<tk::fragment<TA, 64, K, tk::mma_layout>>(shared.a);
      tk::mma_fence(left);
      tk::mma_async(acc, left, right, false);
      tk::mma_commit();
      tk::mma_wait<0>(acc, left);
    } else {
      tk::mma_fence();
      if constexpr (AT)
        tk::mma_async(acc, shared.a.T(), right, false);
      else
        tk::mma_async(acc, shared.a.all(), right, false);
      tk::mma_commit();
      tk::mma_wait<0>(acc);
    }
  };
  if constexpr (BT)
    times(shared.b.T());
  else
    times(shared.b.all());
  tk::store(tk::view<float>{d, N, 64, N}, tk::cast<float>(acc));
}

/// The same by ordinary arithmetic, and a vector through shared memory.
template <class T, bool AT, bool BT> __global__ void product_by_threads(const T *a, const T *b, T *d) {
  constexpr int N = 32, K = 24;
  using a_tile = tk::shared_tile<T, AT ? K : 64, AT ? 64 : K>;
  using b_tile = tk::shared_tile<T, BT ? N : K, BT ? K : N>;
  struct shared_memory {
    a_tile a;
    b_tile b;
  };
  shared_memory &shared = tk::shared_at<shared_memory>(0);
  tk::copy_to_shared<128>(shared.a, tk::view<const T>{a, a_tile::cols, a_tile::rows, a_tile::cols}, threadIdx.x);
  tk::copy_to_shared<128>(shared.b, tk::view<const T>{b, b_tile::cols, b_tile::rows, b_tile::cols}, threadIdx.x);
  tk::sync_block();
  auto acc = tk::full<tk::fragment<T, 64, N, tk::mma_layout>>(1);
  const auto left = [&] {
    if constexpr (AT)
      return shared.a.T();
    else
      return shared.a.all();
  }();
  const auto right = [&] {
    if constexpr (BT)
      return shared.b.T();
    else
      return shared.b.all();
  }();
  tk::mma_by_threads(acc, left, right);
  tk::store(tk::view<T>{d, N, 64, N}, acc);
}

template <class T, bool AT, bool BT> void check_by_threads(const char *what) {
  constexpr int N = 32, K = 24;
  support::buffer<T> a(64 * K), b(N * K), d(64 * N);
  support::randomize(a, 7);
  support::randomize(b, 8);
  support::allow_shared(product_by_threads<T, AT, BT>, 100 * 1024);
  product_by_threads<T, AT, BT><<<1, 128, 100 * 1024>>>(a.data, b.data, d.data);
  support::check(cudaDeviceSynchronize(), what);
  const auto ha = a.host(), hb = b.host(), hd = d.host();
  bool good = true;
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 1;
      for (int k = 0; k < K; ++k)
        sum += double(ha[AT ? k * 64 + m : m * K + k]) * hb[BT ? n * K + k : k * N + n];
      good = good && near(hd[m * N + n], sum, sizeof(T) == 8 ? 1e-13 : 1e-5);
    }
  expect(good, what);
}

/// Functions whose error is promised: the largest difference from the CPU's f64, relative or absolute.
__global__ void functions(const float *x, float *y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  const float v = x[i];
  const float values[] = {
      tk::exp2(v),           tk::exp(v),       tk::log2(tk::abs(v)), tk::log(tk::abs(v)), tk::sqrt(tk::abs(v)),
      tk::rsqrt(tk::abs(v)), tk::rcp(v),       tk::tanh(v),          tk::sigmoid(v),      tk::erf(v),
      tk::sin(100 * v),      tk::cos(100 * v), tk::divide(v, 3.7f)};
  for (int f = 0; f < 13; ++f)
    y[i * 13 + f] = values[f];
}

void check_functions() {
  constexpr int count = 1 << 16;
  support::buffer<float> x(count), y(count * 13);
  support::randomize(x, 9, 4.0f);
  functions<<<count / 256, 256>>>(x.data, y.data, count);
  support::check(cudaDeviceSynchronize(), "functions");
  const auto hx = x.host(), hy = y.host();
  const char *names[] = {"exp2", "exp",     "log2", "log", "sqrt", "rsqrt", "rcp",
                         "tanh", "sigmoid", "erf",  "sin", "cos",  "divide"};
  double worst[13] = {};
  for (int i = 0; i < count; ++i) {
    const double v = hx[i], u = std::fabs(v);
    const double exact[] = {std::exp2(v),
                            std::exp(v),
                            std::log2(u),
                            std::log(u),
                            std::sqrt(u),
                            1 / std::sqrt(u),
                            1 / v,
                            std::tanh(v),
                            1 / (1 + std::exp(-v)),
                            std::erf(v),
                            std::sin(double(100 * hx[i])),
                            std::cos(double(100 * hx[i])),
                            v / double(3.7f)};
    for (int f = 0; f < 13; ++f) {
      const bool absolute = f == 10 || f == 11 || ((f == 2 || f == 3) && u > 0.5 && u < 2);
      const double difference = std::fabs(hy[i * 13 + f] - exact[f]);
      const double error = absolute ? difference : exact[f] == 0 ? difference : difference / std::fabs(exact[f]);
      worst[f] = std::max(worst[f], error == error ? error : HUGE_VAL);
    }
  }
  for (int f = 0; f < 13; ++f) {
    char text[64];
    std::snprintf(text, sizeof text, "%s, largest error %.1f · 2^-24", names[f], worst[f] * 0x1p24);
    expect(worst[f] < (f == 10 || f == 11 ? 0x1p-19 : 0x1p-20), text);
  }
}

__global__ void random_tile(float *out) {
  using tile = tk::fragment<float, 64, 8, tk::mma_layout>;
  tk::store(tk::view<float>{out, 8, 64, 8}, tk::philox(7, tk::row_index<tile>(), tk::col_index<tile>()));
}

/// Against the published generator's first word (counter {i, j, 0, 0}, key {7, 0}).
void check_philox() {
  support::buffer<float> out(64 * 8);
  random_tile<<<1, 128>>>(out.data);
  support::check(cudaDeviceSynchronize(), "philox");
  const auto host = out.host();
  bool good = true;
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 8; ++j) {
      unsigned c[4] = {i, j, 0, 0}, k[2] = {7, 0};
      for (int round = 0; round < 10; ++round) {
        const unsigned long long p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
        const unsigned next[4] = {unsigned(p1 >> 32) ^ c[1] ^ k[0], unsigned(p1), unsigned(p0 >> 32) ^ c[3] ^ k[1],
                                  unsigned(p0)};
        std::copy(next, next + 4, c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
      }
      good = good && host[i * 8 + j] == float(c[0] >> 8) * 0x1p-24f;
    }
  expect(good, "philox");
}

template <class T> float value_of(T x);

/// Each element type to f32 and back, by pairs and one by one, and f32 added to memory by fours.
template <class T> __global__ void conversions(const T *x, float *wide, T *back, float *sums) {
  using layout = tk::row_layout<128, 8, 16>;
  using tile = tk::fragment<T, 16, 128, layout>;
  const auto v = tk::load<tile>(tk::view<const T, 16>{x, 128, 16, 128});
  const auto f = tk::cast<float>(v);
  tk::store(tk::view<float, 16>{wide, 128, 16, 128}, f);
  tk::store(tk::view<T, 16>{back, 128, 16, 128}, tk::cast<T>(f));
  tk::atomic_add(tk::view<float, 16>{sums, 128, 16, 128}, f);
  tk::atomic_add(tk::view<float, 8>{sums, 128, 16, 128}, f);
  tk::atomic_add(tk::view<float>{sums, 128, 16, 128}, f);
}
template <class T> void check_conversions(const char *what) {
  support::buffer<T> x(2048), back(2048);
  support::buffer<float> wide(2048), sums(2048);
  support::randomize(x, 11);
  sums.zero();
  conversions<<<1, 128>>>(x.data, wide.data, back.data, sums.data);
  support::check(cudaDeviceSynchronize(), what);
  const auto hx = x.host(), hb = back.host();
  const auto hw = wide.host(), hs = sums.host();
  bool good = true;
  for (int i = 0; i < 2048; ++i)
    good = good && hw[i] == value_of(hx[i]) && value_of(hb[i]) == value_of(hx[i]) && near(hs[i], 3 * hw[i], 1e-6);
  expect(good, what);
}

template <class T> float value_of(T x) {
  if constexpr (tk::same<T, tk::bf16>) {
    const unsigned bits = unsigned(x.bits) << 16;
    return __builtin_bit_cast(float, bits);
  } else if constexpr (tk::same<T, tk::tf32>) {
    return __builtin_bit_cast(float, x.bits);
  } else if constexpr (tk::is_float8<T> || tk::same<T, tk::half>) {
    const int mantissa = tk::same<T, tk::half> ? 10 : tk::same<T, tk::f8e4m3> ? 3 : 2;
    const int exponent_bits = tk::same<T, tk::f8e4m3> ? 4 : 5;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int bits = x.bits, width = 8 * sizeof(T);
    const int e = bits >> mantissa & ((1 << exponent_bits) - 1), m = bits & ((1 << mantissa) - 1);
    const double magnitude =
        e ? std::ldexp((1 << mantissa) + m, e - bias - mantissa) : std::ldexp(m, 1 - bias - mantissa);
    return float(bits >> (width - 1) & 1 ? -magnitude : magnitude);
  } else {
    return float(x);
  }
}

template <class TA, class TB, int N, int K, bool AT = false, bool BT = true, bool Registers = false, int Swizzle = 128>
void check_product(const char *what) {
  support::buffer<TA> a(64 * K);
  support::buffer<TB> b(N * K);
  support::buffer<float> d(64 * N);
  const float scale = sizeof(TA) == 1 && !tk::is_float8<TA> ? 30.0f : 1.0f;
  support::randomize(a, 5, scale);
  support::randomize(b, 6, scale);
  const int bytes = 200 * 1024;
  const auto kernel = product<TA, TB, N, K, AT, BT, Registers, Swizzle>;
  support::allow_shared(kernel, bytes);
  kernel<<<1, 128, bytes>>>(a.data, b.data, d.data);
  support::check(cudaDeviceSynchronize(), what);
  const auto ha = a.host();
  const auto hb = b.host();
  const auto hd = d.host();
  double difference = 0, norm = 0;
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += double(value_of(ha[AT ? k * 64 + m : m * K + k])) * value_of(hb[BT ? n * K + k : k * N + n]);
      difference += (hd[m * N + n] - sum) * (hd[m * N + n] - sum);
      norm += sum * sum;
    }
  // The matrix engine keeps some 14 bits of the sums of float8 products.
  const double tolerance = tk::is_float8<TA> ? 1e-3 : 1e-4;
  expect(difference <= tolerance * tolerance * norm && norm > 0, what);
}

} // namespace

int main() {
  check_reductions<tk::mma_layout>("mma_layout");
  check_reductions<tk::row_layout<128, 4, 4>>("row_layout<128, 4, 4>");
  check_reductions<tk::row_layout<128, 32, 2>>("row_layout<128, 32, 2>");
  check_reductions<tk::row_layout<128, 64, 1>>("row_layout<128, 64, 1>");
  using namespace tk;
  check_product<bf16, bf16, 256, 64>("bf16 64×256×64, both K-major");
  check_product<bf16, bf16, 8, 128>("bf16 64×8×128");
  check_product<bf16, bf16, 176, 128>("bf16 64×176×128");
  check_product<bf16, bf16, 128, 64, false, false>("bf16 b MN-major");
  check_product<bf16, bf16, 192, 48, true, false>("bf16 a and b MN-major");
  check_product<half, half, 64, 32, true, true>("f16 a MN-major");
  check_product<bf16, bf16, 128, 176, false, false, true>("bf16 a in registers, b MN-major");
  check_product<half, half, 40, 64, false, true, true>("f16 a in registers");
  check_product<bf16, bf16, 96, 64, false, true, false, 64>("bf16 64-byte swizzle");
  check_product<bf16, bf16, 96, 64, true, false, false, 32>("bf16 32-byte swizzle, MN-major");
  check_product<tf32, tf32, 128, 64>("tf32");
  check_product<f8e4m3, f8e4m3, 128, 128>("e4m3");
  check_product<f8e4m3, f8e5m2, 64, 256>("e4m3 with e5m2");
  check_product<f8e5m2, f8e4m3, 24, 64, false, true, false, 64>("e5m2 with e4m3, 64-byte swizzle");
  check_product<i8, i8, 128, 128>("i8");
  check_product<u8, i8, 32, 64, false, true, false, 64>("u8 with i8");
  check_by_threads<float, false, false>("f32 by threads");
  check_by_threads<float, true, true>("f32 by threads, both transposed");
  check_by_threads<double, false, true>("f64 by threads, b transposed");
  check_conversions<bf16>("bf16 to f32 and back; atomic_add by fours");
  check_conversions<half>("f16 to f32 and back");
  check_conversions<f8e4m3>("e4m3 to f32 and back");
  check_conversions<f8e5m2>("e5m2 to f32 and back");
  check_conversions<i8>("i8 to f32 and back");
  check_functions();
  check_philox();
  std::printf("%d wrong\n", failures);
  return failures != 0;
}
