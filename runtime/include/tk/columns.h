// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles whose columns the launcher chooses. A kernel has memory and registers for `Most` columns, and multiplies and
// stores as many as it is told (host/columns.h).
#pragma once

#include "tk/tile_columns.h"
#include "tk/tma.h"
#include "tk/wgmma.h"

namespace tk {

/// The rows of a tile from one on, a multiple of permuted_rows.
template <class Tile>
__device__ __forceinline__ shared_slice<Tile, Tile::rows, Tile::cols> rows_from(Tile &tile, int row) {
  return {tile.address() + u32(row * Tile::layout::row_bytes)};
}

/// acc += a · b in the first columns, as one group of products: what `mma_fence`, `mma_async` and `mma_commit` do, for
/// the instruction of that width. Widths are multiples of `Step`, more than half of acc's columns. Each width has the
/// whole group for itself, as compilers wait for products that are in flight where branches meet.
template <int Step, int Columns = 0, class Acc, class A, class B>
__device__ __forceinline__ void mma_columns(const tile_columns &columns, Acc &acc, const A &a, const B &b) {
  constexpr int width = Columns ? Columns : Acc::cols / 2 / Step * Step + Step;
  if constexpr (width < Acc::cols)
    if (columns.width > width)
      return mma_columns<Step, width + Step>(columns, acc, a, b);
  mma_fence();
  mma_async<width>(acc, a, b);
  mma_commit();
}

/// Two maps of a tensor for stores from such tiles. `whole` has one more dim of size 1 after the innermost. In `tiles`
/// the innermost dim is a tile's columns and the next one counts tiles, so that no box goes beyond its tile. The last
/// tile goes through `whole`, and no box of it goes beyond the tensor.
struct columns_map {
  tensor_map whole, tiles;
};

/// A slice of a tile of shared memory to the columns from `from` on of the tile of the tensor.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_store_columns(const columns_map &map, const tile_columns &columns,
                                                  const shared_slice<Tile, Rows, Cols> &piece, const tile_index &tile,
                                                  int from, C... c) {
  const bool isWhole = tile.end - tile.begin == columns.width;
  const tensor_map &to = isWhole ? map.tiles : map.whole;
  const int first = isWhole ? from : tile.begin + from, second = isWhole ? tile.index : 0;
#pragma unroll
  for (int p = 0; p < panels_of<Tile, Cols>(); ++p)
    store_box<store_verb>(to, piece.address + p * Tile::panel_bytes,
                          coordinates<2 + sizeof...(C)>{{first + p * Tile::panel_cols, second, c...}});
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_store_columns(const columns_map &map, const tile_columns &columns,
                                                  const shared_tile<T, Rows, Cols, Swizzle> &piece,
                                                  const tile_index &tile, int from, C... c) {
  tma_store_columns(map, columns, piece.all(), tile, from, c...);
}

} // namespace tk
