// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule keys that planning understands, and their values for one kernel.
#pragma once

#include "backends/targets/Description.h"
#include "support/Settings.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tkc {
class DiagnosticEngine;
}

namespace tkc::planner {

/// A row of the closed set of keys; `tkc schedule --list` prints them.
struct Key {
  std::string_view name;
  std::string_view type; ///< "int", "bool", or the words allowed: "none|warp|warpgroup"
  int64_t lo, hi;        ///< of an int
  std::string_view defaultText;
  std::string_view help;
  bool isTuned = true;    ///< `tkc tune` tries its values
  bool shapesPlan = true; ///< who sets it wants a plan of the tiles as they are
};
const std::vector<Key> &keys();

/// What the user asked for; absent: the planner's choice.
struct Schedule {
  std::optional<int64_t> stages, warpgroups, warps, overlap, raster, cluster, clusterAcross, producerRegisters,
      consumerRegisters, rescaleThreshold, exp2Fma, vector, keep, split, splitInBlock, lateCopies, columnStep;
  bool aligned = false; ///< of its `when`
  std::optional<bool> persistent, earlyLaunch, allowUpcast, twoCta, claimTiles, correction, alternate, interleave,
      pingpong, keepAhead, lateSums, ownBounds, adder, alignRows, share, loadAhead, bulkStores;
  std::optional<uint8_t> captured; ///< a plan::Uncounted
};

/// Checks keys, types and ranges; names of tunes are not keys and were taken out before.
Schedule readSchedule(const ScheduleSettings &settings, DiagnosticEngine &diagnostics);

} // namespace tkc::planner
