// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/Includes.h"

#include <set>

namespace tkc::cuda {

namespace {

struct Row {
  std::string_view prefix; ///< of a name in tk::
  std::string_view header;
};
constexpr Row rows[] = {
    {"atomic_", "atomic.h"},
    {"barrier", "barrier.h"},
    {"bulk_", "tma.h"},
    {"by_chiplet", "chiplets.h"},
    {"cast", "elementwise.h"},
    {"ceil_div", "tiles.h"},
    {"cancel_launch", "cluster_launch.h"},
    {"next_cluster", "cluster_launch.h"},
    {"cluster_", "sync.h"},
    {"copy_to", "copy.h"},
    {"copy_rows", "copy.h"},
    {"finish_copies", "copy.h"},
    {"copy_async", "cp_async.h"},
    {"copy_row_async", "row_copy.h"},
    {"copy_led_row_async", "row_copy.h"},
    {"last_in_cache", "last_in_cache.h"},
    {"lead", "led_rows.h"},
    {"led_", "led_rows.h"},
    {"load_led_shared", "row_copy.h"},
    {"copy_commit", "cp_async.h"},
    {"copy_from", "copy_out.h"},
    {"copy_wait", "cp_async.h"},
    {"cumsum_", "scan.h"},
    {"exp2_shared", "exp2_fma.h"},
    {"finish_row", "reduce.h"},
    {"thread_row", "reduce.h"},
    {"fence_proxy_async", "sync.h"},
    {"fragment", "elementwise.h"},
    {"gather", "memory.h"},
    {"global", "global.h"},
    {"load_direct", "direct_load.h"},
    {"load_cluster_shared", "cluster_copy.h"},
    {"load_shared", "shared_copy.h"},
    {"launch_dependents", "sync.h"},
    {"mma(", "mma.h"},
    {"mma_scaled", "mma_scaled.h"},
    {"f4e2m1_pair", "packed.h"},
    {"copy_scales", "scale_copy.h"},
    {"pairs", "packed.h"},
    {"f6e2m3_padded", "padded.h"},
    {"f6e3m2_padded", "padded.h"},
    {"copy_padded", "padded_copy.h"},
    {"packed_bytes", "packed.h"},
    {"padded_share", "padded_share.h"},
    {"fetch_pairs", "scale_share.h"},
    {"scale_share", "scale_share.h"},
    {"scratch", "reduce.h"},
    {"mfma_layout", "mfma_layout.h"},
    {"mma_by", "product.h"},
    {"mma_in", "mma_schedule.h"},
    {"mma_async", "wgmma.h"},
    {"mma_fence", "wgmma.h"},
    {"col_arg", "reduce.h"},
    {"col_max", "reduce.h"},
    {"col_min", "reduce.h"},
    {"col_prod", "reduce.h"},
    {"col_sum", "reduce.h"},
    {"row_arg", "reduce.h"},
    {"row_max", "reduce.h"},
    {"row_min", "reduce.h"},
    {"row_prod", "reduce.h"},
    {"row_sum", "reduce.h"},
    {"any_row", "operand.h"},
    {"as_operand", "operand_exchange.h"},
    {"first_column", "operand.h"},
    {"first_element", "operand.h"},
    {"share<", "register_copy.h"},
    {"spread", "operand.h"},
    {"one_plus_tanh", "tanh.h"},
    {"philox", "philox.h"},
    {"raster", "raster.h"},
    {"recorder", "trace.h"},
    {"trace ", "trace.h"},
    {"ring", "ring.h"},
    {"scaled_tanh", "tanh.h"},
    {"scatter", "memory.h"},
    {"store_shared", "shared_copy.h"},
    {"store_shared_late", "shared_copy_late.h"},
    {"stores<", "memory.h"},
    {"sync", "barrier.h"},
    {"pair_allocate", "tensor_memory.h"},
    {"pair_commit", "tcgen05.h"},
    {"tensor_allocate", "tensor_memory.h"},
    {"tensor_commit", "tcgen05.h"},
    {"tensor_fence", "tensor_memory.h"},
    {"tensor_load", "tensor_memory.h"},
    {"tensor_mma(", "tcgen05.h"},
    {"tensor_mma_scaled", "tensor_scaled.h"},
    {"scale_tile", "tensor_scaled.h"},
    {"tensor_scale", "tensor_memory.h"},
    {"tensor_store", "tensor_memory.h"},
    {"tile_index", "tiles.h"},
    {"tiles", "tiles.h"},
    {"before(", "tiles.h"},
    {"grid_walk", "tiles.h"},
    {"tma_", "tma.h"},
    {"wait_loads", "direct_load.h"},
    {"warp", "sync.h"},
    {"view", "memory.h"},
    {"column", "elementwise.h"},
    {"row<", "elementwise.h"},
    {"elect_one", "sync.h"},
    {"thread_in", "sync.h"},
    {"claim_", "sync.h"},
    {"claim_counted", "tile_counter.h"},
    {"next_counted", "tile_counter.h"},
    {"counted_tile", "tile_counter.h"},
    {"divide", "math.h"},
    {"rcp_rn", "math.h"},
    {"rsqrt_rn", "math.h"},
    {"sqrt_rn", "math.h"},
    {"modulo", "math.h"},
    {"shift_left", "math.h"},
    {"shift_right", "math.h"},
    {"min", "elementwise.h"},
    {"max", "elementwise.h"},
    {"host", "host/launch.h"},
    {"host::fill", "host/fill.h"},
    {"host::tile_claims_of", "host/tile_claims.h"},
    {"host::trace_of", "host/trace.h"},
};

} // namespace

std::vector<std::string> includesOf(std::string_view code) {
  std::set<std::string> headers;
  for (size_t at = code.find("tk::"); at != std::string_view::npos; at = code.find("tk::", at + 4))
    for (const Row &row : rows)
      if (code.substr(at + 4, row.prefix.size()) == row.prefix)
        headers.emplace(row.header);
  return {headers.begin(), headers.end()};
}

} // namespace tkc::cuda
