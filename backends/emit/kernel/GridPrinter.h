// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a block finds the tiles of the grid that are its own: its coordinates from its number, and the loop in which each
// role takes tile after tile.
#pragma once

#include "backends/emit/kernel/RolePrinter.h"

namespace tkc::cuda {

struct Dialect;

class GridPrinter {
public:
  GridPrinter(const KernelContext &kernel, const std::string &name);

  /// What the range of an axis over tiles is called, and its declaration.
  const std::string &tilesOf(const plan::GridAxis &axis) const { return kernel.rangeNames.at(axis.name); }
  void declareTiles(const plan::GridAxis &axis, cpp::Body &out) const;
  /// The role's body once for every tile that the block takes.
  cpp::Body walk(const plan::Role &role, RolePrinter &printer) const;
  /// Statements that find the first tile of the block, where that depends on its number alone.
  cpp::Body firstTile() const;
  /// Whether each tile of a block reads the kernel's arguments again.
  bool rereadsArguments() const;
  /// The function by which who asks for a counted tile finds its coordinates for all roles: `tile_of`.
  cpp::Stmt tileOf() const;

private:
  cpp::Expr bound(const std::string &var) const;
  bool isPart(const plan::GridAxis &axis) const;
  cpp::Expr divisor(const std::string &key, cpp::Expr steps) const;
  bool isReversed(const plan::GridAxis &axis) const;
  cpp::Expr extent(const plan::GridAxis &axis) const;
  cpp::Expr extentOf(size_t first, size_t end) const;
  cpp::Expr blockCount(size_t first) const;
  size_t firstFlatAxis() const;
  cpp::Expr placeOf(const plan::GridAxis &axis, cpp::Expr step) const;
  void declareAxis(const plan::GridAxis &axis, cpp::Expr place, cpp::Body &out) const;
  const std::string &nameOf(const plan::GridAxis &axis) const { return kernel.gridNames.at(axis.name); }
  template <class Take> void takeAxes(size_t first, cpp::Expr number, const Take &take, cpp::Body &out) const;
  template <class Take>
  void walkAxes(size_t first, size_t end, const cpp::Expr &number, const std::string &walk, const Take &take,
                cpp::Body &out) const;
  cpp::Body findTile(const plan::Role &role) const;
  cpp::Body tileOfNumber(cpp::Expr number) const;
  cpp::Body dynamicLoop(const plan::Role &role, cpp::Body tile) const;
  cpp::Body boundsOf(const plan::GridAxis &axis) const;
  cpp::Body raggedGrid(size_t first, cpp::Body tile) const;

  const KernelContext &kernel;
  const plan::Plan &plan;
  const Dialect &dialect;
  const std::string &name;
};

} // namespace tkc::cuda
