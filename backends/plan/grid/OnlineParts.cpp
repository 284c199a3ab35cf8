// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/OnlineParts.h"

#include "backends/plan/grid/LoopSums.h"
#include "backends/plan/roles/FreshName.h"

#include <limits>

namespace tkc::planner {

using ir::OpKind;
using Kind = plan::StmtKind;
using plan::Stmt;

namespace {

/// Columns of the narrowest accumulator: shared memory takes tiles, so a column goes there as one of equal columns.
constexpr int64_t columnsOfTile = 8;

} // namespace

std::string OnlineParts::declare(const std::string &hint, const plan::VarType &type) {
  std::string name = freshName(hint, taken);
  role.vars.push_back({name, type});
  return name;
}

std::string OnlineParts::compute(plan::Body &body, OpKind op, const std::string &hint, const plan::VarType &type,
                                 std::vector<std::string> operands, SourceLoc loc) {
  std::string name = declare(hint, type);
  Stmt &stmt = plan::append(body, Kind::Compute, loc);
  stmt.op = op;
  stmt.dest = name;
  stmt.operands = std::move(operands);
  return name;
}

std::string OnlineParts::constant(plan::Body &body, const std::string &hint, double value, SourceLoc loc) {
  std::string name = compute(body, OpKind::Const, hint, {}, {}, loc);
  body.back().constant = value;
  return name;
}

void OnlineParts::leave(plan::Body &body, const plan::VarType &like, SourceLoc loc) {
  tile = like;
  tile.elem = ElemType::F32;
  tile.cols = columnsOfTile;
  const std::string zero = constant(body, "zero_value", 0, loc);
  const std::string zeros = compute(body, OpKind::Full, "zeros", tile, {zero}, loc);
  std::vector<std::string> all = {maximum};
  all.insert(all.end(), columns.begin(), columns.end());
  for (const std::string &column : all) {
    bufferOf.push_back(freshName(column + "_part", taken));
    plan.buffers.push_back(bufferOfPart(bufferOf.back(), tile, tile.cols, loc));
    const std::string spread = compute(body, OpKind::Add, column + "_tile", tile, {zeros, column}, loc);
    Stmt &write = plan::append(body, Kind::StoreShared, loc);
    write.operands = {spread};
    write.ref = {bufferOf.back(), "", false, plan::heldPart(tile)};
  }
}

/// The tiles of the blocks that come next, all under way before one is waited for.
std::vector<std::string> OnlineParts::read(plan::Body &body, size_t column, SourceLoc loc) {
  const std::string &name = column == 0 ? maximum : columns[column - 1];
  std::vector<std::string> tiles;
  for (int block = 1; block < blocks; ++block) {
    tiles.push_back(declare(name + "_tile_of_" + std::to_string(block), tile));
    Stmt &load = plan::append(body, Kind::LoadShared, loc);
    load.dest = tiles.back();
    load.ref = {bufferOf[column], "", false, plan::heldPart(tile)};
    load.fromBlock = block;
  }
  return tiles;
}

/// The column of which a tile is made: the largest of equal columns.
std::string OnlineParts::columnOf(plan::Body &body, const std::string &spread, const plan::VarType &type,
                                  SourceLoc loc) {
  std::string result = compute(body, OpKind::Reduce, "reduce_value", type, {spread}, loc);
  body.back().axis = 1;
  body.back().reduce = ir::ReduceKind::Max;
  return result;
}

std::vector<std::string> OnlineParts::merge(plan::Body &body, SourceLoc loc) {
  const plan::VarType type = role.findVar(maximum)->type;
  std::vector<std::vector<std::string>> tiles;
  for (size_t column = 0; column <= columns.size(); ++column)
    tiles.push_back(read(body, column, loc));
  std::vector<std::string> maxima = {maximum};
  for (const std::string &each : tiles.front())
    maxima.push_back(columnOf(body, each, type, loc));
  std::string all = maximum;
  for (int block = 1; block < blocks; ++block)
    all = compute(body, OpKind::Max, maximum + "_all", type, {all, maxima[static_cast<size_t>(block)]}, loc);
  std::string top = all;
  if (sums.mayBeNothing) {
    plan::VarType isNothing = type;
    isNothing.elem = ElemType::Bool;
    const std::string nothing = constant(body, "nothing_value", -std::numeric_limits<double>::infinity(), loc);
    const std::string zero = constant(body, "zero_value", 0, loc);
    const std::string test = compute(body, OpKind::Eq, maximum + "_is_nothing", isNothing, {all, nothing}, loc);
    top = compute(body, OpKind::Select, maximum + "_top", type, {test, zero, all}, loc);
  }
  std::vector<std::string> scales;
  for (const std::string &each : maxima) {
    const std::string difference = compute(body, OpKind::Sub, "sub_value", type, {each, top}, loc);
    scales.push_back(compute(body, sums.exponential, maximum + "_scale", type, {difference}, loc));
  }
  for (size_t column = 1; column <= columns.size(); ++column) {
    const std::string &sum = columns[column - 1];
    std::string total = compute(body, OpKind::Mul, "mul_value", type, {sum, scales[0]}, loc);
    for (int block = 1; block < blocks; ++block) {
      const std::string theirs = columnOf(body, tiles[column][static_cast<size_t>(block - 1)], type, loc);
      const std::string scaled =
          compute(body, OpKind::Mul, "mul_value", type, {theirs, scales[static_cast<size_t>(block)]}, loc);
      total = compute(body, OpKind::Add, sum + "_all", type, {total, scaled}, loc);
    }
    Stmt &move = plan::append(body, Kind::Move, loc);
    move.dest = sum;
    move.operands = {total};
  }
  Stmt &move = plan::append(body, Kind::Move, loc);
  move.dest = maximum;
  move.operands = {all};
  return scales;
}

} // namespace tkc::planner
