// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/schedule/Schedule.h"

#include "support/Diagnostics.h"
#include "support/ForeignWords.h"
#include "support/NearestName.h"

#include <algorithm>
#include <cmath>

namespace tkc::planner {
namespace {

void set(Schedule &schedule, std::string_view key, int64_t value) {
  if (key == "stages")
    schedule.stages = value;
  else if (key == "warpgroups")
    schedule.warpgroups = value;
  else if (key == "warps")
    schedule.warps = value;
  else if (key == "vector")
    schedule.vector = value;
  else if (key == "keep")
    schedule.keep = value;
  else if (key == "keep_ahead")
    schedule.keepAhead = value != 0;
  else if (key == "align_rows")
    schedule.alignRows = value != 0;
  else if (key == "overlap")
    schedule.overlap = value;
  else if (key == "raster")
    schedule.raster = value;
  else if (key == "cluster")
    schedule.cluster = value;
  else if (key == "cluster_across")
    schedule.clusterAcross = value;
  else if (key == "column_step")
    schedule.columnStep = value;
  else if (key == "split")
    schedule.split = value;
  else if (key == "split_in_block")
    schedule.splitInBlock = value;
  else if (key == "producer_registers")
    schedule.producerRegisters = value;
  else if (key == "consumer_registers")
    schedule.consumerRegisters = value;
  else if (key == "rescale_threshold")
    schedule.rescaleThreshold = value;
  else if (key == "exp2_fma")
    schedule.exp2Fma = value;
  else if (key == "correction")
    schedule.correction = value != 0;
  else if (key == "late_sums")
    schedule.lateSums = value != 0;
  else if (key == "adder")
    schedule.adder = value != 0;
  else if (key == "own_bounds")
    schedule.ownBounds = value != 0;
  else if (key == "claim_tiles")
    schedule.claimTiles = value != 0;
  else if (key == "captured")
    schedule.captured = static_cast<uint8_t>(value);
  else if (key == "two_cta")
    schedule.twoCta = value != 0;
  else if (key == "allow_upcast")
    schedule.allowUpcast = value != 0;
  else if (key == "persistent")
    schedule.persistent = value != 0;
  else if (key == "alternate")
    schedule.alternate = value != 0;
  else if (key == "interleave")
    schedule.interleave = value != 0;
  else if (key == "pingpong")
    schedule.pingpong = value != 0;
  else if (key == "share")
    schedule.share = value != 0;
  else if (key == "late_copies")
    schedule.lateCopies = value;
  else if (key == "load_ahead")
    schedule.loadAhead = value != 0;
  else if (key == "bulk_stores")
    schedule.bulkStores = value != 0;
  else if (key == "early_launch")
    schedule.earlyLaunch = value != 0;
}

} // namespace

const std::vector<Key> &keys() {
  static const std::vector<Key> rows{
      {"stages", "int", 1, 16, "as many as fit, at most 4", "stages of every ring inside a loop"},
      {"warpgroups", "int", 1, 4, "by the rows of the products", "warpgroups that compute"},
      {"warps", "int", 1, 32, "by the size of the tiles",
       "warps of a kernel without products, or whose warps multiply by themselves; a power of two"},
      {"vector", "int", 1, 8, "as many as 16 bytes hold",
       "neighbours in a row that a thread holds, of a kernel without products; a power of two. 1 suits rows of odd "
       "length"},
      {"keep", "int", 0, 16, "as many as leave place for 1024 threads a multiprocessor",
       "tiles of what several loops of a kernel without products load that stay in shared memory"},
      {"keep_ahead", "bool", 0, 1, "false",
       "tiles that are kept are all on their way before the first is worked with (cp.async)"},
      {"align_rows", "bool", 0, 1, "false",
       "of a kernel without products whose tiles are of one row: vectors begin where memory has multiples of their "
       "size, wherever the row does; suits rows of odd length"},
      {"overlap", "int", 0, 1, "1", "loop iterations that a product may run behind the vector work that feeds it"},
      {"load_ahead", "bool", 0, 1, "false",
       "tiles that threads work with before a product come through a ring, where the copy engine loads them"},
      {"bulk_stores", "bool", 0, 1, "false",
       "tiles that loops with products store, each iteration elsewhere, leave through shared memory and the copy "
       "engine, as those behind loops do"},
      {"share", "bool", 0, 1, "true where nothing else fits",
       "operands in shared memory that are in use at different times lie in the same memory; takes more barriers"},
      {"late_copies", "int", 0, 2, "1 or 2 where nothing else fits",
       "of warps that copy for themselves: 1: a tile is copied right before its first use, not ahead, which leaves "
       "more memory to share; 2: in loops also what is else loaded once a tile of the grid (AMD, NVIDIA before "
       "Hopper)"},
      {"alternate", "bool", 0, 1, "true where eight waves have rings of three stages",
       "of a loop of products alone: two halves of the waves load and multiply in turns (AMD)"},
      {"interleave", "bool", 0, 1, "true for loops of one product alone, where waves do not alternate",
       "reads of operands are spread between the instructions of each product (AMD)"},
      {"persistent", "bool", 0, 1, "true for products without vector work", "blocks take tile after tile"},
      {"pingpong", "bool", 0, 1, "false",
       "of a loop of products alone: computing warpgroups take whole tiles in turns, so that one multiplies while the "
       "other stores (Hopper)"},
      {"early_launch", "bool", 0, 1, "true in programs, and where the copy engine loads tiles",
       "launched while the kernel before still runs, for whose end it waits", false, false},
      {"allow_upcast", "bool", 0, 1, "false", "types that the GPU lacks are computed in wider ones, more slowly", false,
       false},
      {"raster", "int", 1, 64, "8, or 16 where tiles differ in length",
       "rows of a raster group of the grid: of tiles, for L2, or of sequences of tiles whose longest go first"},
      {"cluster", "int", 1, 4, "1", "blocks that load shares of a common operand for each other: 1, 2 or 4"},
      {"cluster_across", "int", 1, 4, "1",
       "with `cluster`: as many blocks side by side along a second axis, so that clusters share both operands: 1, 2 or "
       "4"},
      {"column_step", "int", 8, 128, "none: all tiles have the columns that the kernel says",
       "the launcher chooses how many columns tiles of products have: a multiple of so many, more than half of what "
       "the "
       "kernel says, with which tiles just fill the rounds that the GPU takes (Hopper)",
       false},
      {"split", "int", 1, 8, "1",
       "blocks of a cluster that share out the loop of products of one tile, and add up, also attention's: 1, 2, 4 or "
       "8"},
      {"split_in_block", "int", 1, 4, "1",
       "computing warpgroups of a block that take the iterations of the loop of products of one tile in turns, each "
       "with sums of its own, which one of them adds up (Hopper)"},
      {"correction", "bool", 0, 1, "false",
       "a warpgroup of its own rescales accumulators in tensor memory, of one or two computing ones; of one it also "
       "stores them"},
      {"late_sums", "bool", 0, 1, "true where warps multiply by themselves",
       "sums of rows that a loop carries stay apart, a part in each thread, until after the loops; of rows in several "
       "warps also online maxima"},
      {"adder", "bool", 0, 1, "true where all tensors suit the copy engine",
       "what loops add to tensors is handed to the copy engine by warps beside those that load (Hopper)", false},
      {"own_bounds", "bool", 0, 1, "false",
       "of a loop at a mask each computing warpgroup does the tiles that its own rows see, and passes by the others"},
      {"claim_tiles", "bool", 0, 1,
       "true for persistent grids of products into tensor memory, and for tiles of different lengths",
       "a block takes the next tile that is left: of blocks that have not started (cluster launch control), else as a "
       "counter in memory says"},
      {"captured", "int", 0, 2, "2 where pairs are equally long, 1 where tiles are, else 0",
       "of a kernel whose tiles a counter hands out, how launches without one take them, as captured ones: 0: a block "
       "for each tile, 1: blocks take turns, 2: blocks take pairs of a long and a short tile (Hopper)",
       false, false},
      {"two_cta", "bool", 0, 1, "true for large tiles of products alone",
       "pairs of blocks multiply together, each with half of the right operand"},
      {"rescale_threshold", "int", 0, 16, "8 where accumulators are in tensor memory",
       "powers of two by which an online maximum grows before accumulators are rescaled; 0: always"},
      {"exp2_fma", "int", 0, 16, "2 where a thread issues products and exp2 is slow",
       "of 16 exponentials of a tile those that multiply-adds compute instead of the special function unit"},
      {"producer_registers", "int", 24, 240, "24, 32 or 40",
       "registers a thread of the loading warpgroup; a multiple of 8", false},
      {"consumer_registers", "int", 24, 256, "160, 232 or 240",
       "registers a thread of the computing warpgroups; a multiple of 8", false},
  };
  return rows;
}

Schedule readSchedule(const ScheduleSettings &settings, DiagnosticEngine &diagnostics) {
  Schedule schedule;
  for (const auto &[name, value] : settings) {
    auto row = std::find_if(keys().begin(), keys().end(), [&](const Key &key) { return key.name == name; });
    if (row == keys().end()) {
      std::vector<std::string> known;
      for (const Key &key : keys())
        known.emplace_back(key.name);
      if (std::optional<std::string_view> key = foreignKey(name))
        diagnostics.report(Diag::unknown_schedule_key_suggest, value.range, name, *key);
      else if (std::optional<std::string> near = nearestName(name, known))
        diagnostics.report(Diag::unknown_schedule_key_suggest, value.range, name, *near);
      else
        diagnostics.report(Diag::unknown_schedule_key, value.range, name);
      continue;
    }
    if (!value.name.empty() || value.number != std::floor(value.number) ||
        value.number < static_cast<double>(row->lo) || value.number > static_cast<double>(row->hi)) {
      diagnostics.report(Diag::schedule_key_out_of_range, value.range, name, row->lo, row->hi);
      continue;
    }
    set(schedule, name, static_cast<int64_t>(value.number));
  }
  return schedule;
}

} // namespace tkc::planner
