// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which share of what blocks ask of L2 device memory has to bring: from the tiles that run side by side, and the sizes
// of the tensors.
#pragma once

#include "backends/cost/Grid.h"
#include "backends/cost/Program.h"

namespace tkc::cost {

/// Fills in Traffic::missing and Traffic::joined. `concurrent`: tiles that run at once.
void findReuse(Program &program, const Grid &grid, const CallShape &call, const arch::Description &arch,
               int64_t concurrent);

/// Trips of the outermost loops of the computing role, tile by tile.
class Trips {
public:
  Trips(const Program &program, const Grid &grid);
  double of(const Tile &tile);
  /// Whether all tiles have as many.
  bool areEqual() const { return axes.empty(); }

private:
  const RoleProgram &role;
  const Grid &grid;
  const std::vector<plan::GridAxis> &axisNames;
  std::vector<size_t> axes; ///< on which they depend
  std::map<std::vector<int64_t>, double> known;
};

} // namespace tkc::cost
