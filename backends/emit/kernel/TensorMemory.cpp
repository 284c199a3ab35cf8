// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory: its tiles as C++ values, what threads move there and back, products into it.
#include "backends/emit/kernel/RolePrinter.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::cuda {

using plan::Division;
using plan::Stmt;
using plan::StmtKind;

namespace {

bool hasPairedProduct(const plan::Body &body) {
  return std::any_of(body.begin(), body.end(), [](const Stmt &stmt) {
    return stmt.byPair || hasPairedProduct(stmt.prologue) || hasPairedProduct(stmt.body) ||
           hasPairedProduct(stmt.epilogue) || hasPairedProduct(stmt.orElse);
  });
}

} // namespace

bool KernelContext::multipliesByPairs() const {
  return std::any_of(plan.roles.begin(), plan.roles.end(),
                     [](const plan::Role &role) { return hasPairedProduct(role.body); });
}

/// The part of a stage that the instance has: `tk::tensor_tile<float, 128, 128>{tensor + 64}`.
cpp::Expr RolePrinter::tensorTile(const plan::BufferRef &ref) const {
  const plan::TensorBuffer &buffer = *kernel.plan.findTensor(ref.buffer);
  const bool divided = instance && ref.slice != Division::Whole;
  const int instances = divided ? role.instances : 1;
  const int64_t rows = ref.slice == Division::Rows ? buffer.rows / instances : buffer.rows;
  const int64_t cols = ref.slice == Division::Cols ? buffer.cols / instances : buffer.cols;
  cpp::Expr address = cpp::name("tensor");
  const auto add = [&](const cpp::Expr &columns) { address = cpp::binary("+", address, columns); };
  if (buffer.offset > 0)
    add(cpp::integer(buffer.offset));
  if (divided)
    add(cpp::binary("*", instance, cpp::integer(buffer.stageColumns() / instances)));
  if (!ref.cursor.empty() && buffer.stages > 1)
    add(cpp::binary("*", cpp::member(cpp::name(cppNames.at(ref.cursor)), "slot"), cpp::integer(buffer.stageColumns())));
  return cpp::braces(fmt::format("tk::tensor_tile<{}, {}, {}>", elementType(buffer.elem), rows, cols), {address});
}

void RolePrinter::printTensorAccess(const Stmt &stmt, cpp::Body &out) {
  const auto call = [&](const char *name, std::vector<cpp::Expr> args) {
    out.push_back(cpp::Stmt::expression(cpp::call(name, std::move(args))));
  };
  switch (stmt.kind) {
  case StmtKind::LoadTensor:
    assign(stmt, cpp::call(cpp::templated("tk::tensor_load", {cpp::name(typeText(stmt.dest))}), {tensorTile(stmt.ref)}),
           out);
    return call("tk::tensor_wait_load", {cpp::name(nameOf(stmt.dest))});
  case StmtKind::StoreTensor:
    call("tk::tensor_store", {tensorTile(stmt.ref), value(stmt.operands[0])});
    return call("tk::tensor_wait_store", {});
  case StmtKind::ScaleTensor:
    return call("tk::tensor_scale", {tensorTile(stmt.ref), value(stmt.operands[0])});
  default:
    return;
  }
}

void RolePrinter::printTensorProduct(const Stmt &stmt, cpp::Body &out) {
  const cpp::Expr a = kernel.plan.findTensor(stmt.aRef.buffer) ? tensorTile(stmt.aRef) : productOperand(stmt.aRef);
  std::vector<cpp::Expr> args = {tensorTile(stmt.destRef), a, productOperand(stmt.ref)};
  for (const plan::BufferRef &scales : stmt.scales)
    args.push_back(kernel.plan.findTensor(scales.buffer) ? tensorTile(scales) : productOperand(scales));
  if (!stmt.accumulate)
    args.push_back(cpp::boolean(false));
  const std::string verb = stmt.byPair ? "tk::pair_mma" : "tk::tensor_mma";
  emit(stmt, out, cpp::call(verb + (stmt.scales.empty() ? "" : "_scaled"), std::move(args)));
}

void RolePrinter::printTensorCommit(const Stmt &stmt, cpp::Body &out) {
  if (kernel.multipliesByPairs())
    return emit(stmt, out, cpp::call("tk::pair_commit", {barrierRef(stmt)}));
  if (!stmt.as<plan::ProductCommit>().inCluster)
    return emit(stmt, out, cpp::call("tk::tensor_commit", {barrierRef(stmt)}));
  const plan::Grid &grid = kernel.plan.grid;
  cpp::Expr mates = kernel.maskAlong(grid.clusterAxis);
  if (grid.across > 1)
    mates = cpp::binary("|", mates, kernel.maskAlong(grid.acrossAxis));
  emit(stmt, out, cpp::call("tk::tensor_commit_all", {barrierRef(stmt), mates}));
}

} // namespace tkc::cuda
