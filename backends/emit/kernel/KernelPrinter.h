// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/plan/PlanIR.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::cuda {

struct PrintOptions {
  std::string onlyIf = {}; ///< a condition of the preprocessor: the function has its body only where that holds
  int recordWords = 2;     ///< EmitOptions::recordWords
};

/// The arguments' struct, the shared-memory struct and the `__global__` function, not yet formatted.
std::string printKernel(const plan::Plan &plan, const std::string &name, const SourceManager &sources,
                        const PrintOptions &options = {});

/// Names of the extern functions that the plan calls.
std::set<std::string> externFunctionsOf(const plan::Plan &plan);
/// Whether the kernel may begin before the one before it on the stream has ended.
bool waitsForPrevious(const plan::Plan &plan);
/// Whether any of its roles records what it does when.
bool isInstrumented(const plan::Plan &plan);
/// What a tensor map is for. Vectors suit the copy engine less often than the tiles beside them (their rows are short),
/// so the launcher says separately of both whether they do.
enum class MapUse : uint8_t { LoadsTile, LoadsVector, Stores };
/// Maps of the plan, by name.
std::vector<std::pair<std::string, MapUse>> mapUses(const plan::Plan &plan);
/// Members of the arguments that say whether all loaded tiles, or all loaded vectors, suit the copy engine: those of
/// "loads_fit" and "vectors_fit" that the plan needs.
std::vector<std::string> fitFlags(const plan::Plan &plan);
/// Whether the launcher also says of each loaded tile by itself whether it suits the engine: where there are several,
/// threads copy only those that do not.
bool asksEachLoad(const plan::Plan &plan);

/// A dim of a tensor along which a kernel fetches so many elements through bounds of 32 bits.
struct Reach {
  std::string tensor;
  int dim;
  int64_t extent;
  friend auto operator<=>(const Reach &, const Reach &) = default;
};
std::set<Reach> reaches(const plan::Plan &plan);
/// Dim symbols that are not numbers in this specialisation, in order of first use.
std::vector<std::string> runtimeSymbols(const plan::Plan &plan);

} // namespace tkc::cuda
