// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a plan will take on a GPU, without the GPU: one multiprocessor is simulated, event by event, and the grid
// reckoned from it. docs/cost-model.md. Takes milliseconds; what `tkc explain` prints and `tkc tune` ranks with.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tkc::cost {

/// What a multiprocessor and the memory beyond it do their work with. Work on one overlaps with work on the others.
enum class Unit : uint8_t {
  Matrix,       ///< matrix instructions
  Issue,        ///< instructions that warps issue
  MultiplyAdd,  ///< additions and products of f32
  Simple,       ///< comparisons, selections, integers, conversions
  Special,      ///< exp2, log2, 1 / x and their like
  Shared,       ///< bytes to and from shared memory
  TensorMemory, ///< values to and from tensor memory
  L2,           ///< bytes from L2 to the multiprocessor
  Stores,       ///< bytes from the multiprocessor to L2
  Memory,       ///< bytes between L2 and device memory
};
inline constexpr size_t numUnits = 10;
std::string_view spelling(Unit unit);

/// A call: what the launcher finds in its arguments.
struct CallShape {
  std::map<std::string, int64_t> dims;   ///< of every symbol of the kernel
  std::map<std::string, double> scalars; ///< of its scalar parameters, as far as loops and branches depend on them
  /// CallArguments::alignments; a tensor that is not among them is dense.
  std::map<std::string, int64_t> alignments;
};

struct Options {
  bool first = true; ///< in a while: nothing of it is in L2, nor its code
  /// Then L2 is full of what others wrote, as between the calls of `tkc bench`, and not of what they read.
  bool dirtyCache = true;
  bool launch = true;    ///< counts the launch
  bool timeline = false; ///< keeps the spans of the first block
};

/// What a role or a unit did at a time, for pictures. Nanoseconds from the block's start.
struct Span {
  enum Kind : uint8_t { Compute, Product, Copy, Wait } kind = Compute;
  std::string name;
  double begin = 0, end = 0;
  SourceLoc loc;
};
struct Track {
  std::string name;
  std::vector<Span> spans;
};

/// What is predicted of one launch.
struct Estimate {
  double seconds = 0;
  double blockSeconds = 0; ///< of a block of which there are many: from its start to the next one in its place
  double firstSeconds = 0; ///< of them, of the first, which starts alone
  int64_t tiles = 0;       ///< of the grid
  int64_t blocks = 0;      ///< that are launched
  int residentBlocks = 1;  ///< on each multiprocessor at once
  double waves = 0;        ///< tiles over what runs at once
  double operations = 0;   ///< of products, two a multiply-add, over whole tiles
  double memoryBytes = 0;  ///< to and from device memory
  double l2Bytes = 0;      ///< to and from L2
  double clockMHz = 0;     ///< that power allows
  double waiting = 0;      ///< share of the time in which the computing role waits for anything
  std::array<double, numUnits> busy{}; ///< shares of the whole time
  std::vector<Track> timeline;         ///< of the first block
  /// What the model could not know, in sentences.
  std::vector<std::string> assumptions;

  double share(Unit unit) const { return busy[static_cast<size_t>(unit)]; }
  /// The busiest unit.
  Unit busiest() const;
};

/// Whether the copy engine can take every tensor that the plan leaves to it; else a launcher that has another plan for
/// the call takes that one.
bool suits(const plan::Plan &plan, const CallShape &call);

/// `plan` has passed the verifier.
Estimate estimate(const plan::Plan &plan, const arch::Description &arch, const CallShape &call,
                  const Options &options = {});

} // namespace tkc::cost
