// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel writes, once all of it is known: an `out` that nothing stores to, and a store that every block along
// an axis of the grid makes to the same elements.
#include "frontend/sema/Elaborator.h"

#include <unordered_set>

namespace tkc::sema {
namespace {

using ir::OpKind;

/// Values, and bodies that run or not, depending on one value.
class Dependents {
public:
  explicit Dependents(const ir::Value *source) { add(source); }

  bool contains(const ir::Value *value) const { return values.count(value) != 0; }
  /// Whether the op runs, or how often, depends on the source; looked for up to the body of `outermost`.
  bool isControlled(const ir::Op *op, const ir::Op *outermost) const {
    for (const ir::Op *at = op->parent->parent; at && at != outermost; at = at->parent->parent)
      if (controlling.count(at))
        return true;
    return false;
  }

private:
  void add(const ir::Value *value) {
    if (!values.insert(value).second)
      return;
    for (const ir::Op *user : value->users)
      addUser(user);
  }
  void addUser(const ir::Op *user) {
    for (auto &result : user->results)
      add(result.get());
    if (!user->bodies.empty()) {
      controlling.insert(user);
      for (auto &body : user->bodies)
        for (auto &arg : body->args)
          add(arg.get());
    }
    const ir::Op *parent = user->kind == OpKind::Yield ? user->parent->parent : nullptr;
    if (parent)
      for (auto &result : parent->results)
        add(result.get());
    if (parent && parent->kind == OpKind::For)
      for (size_t i = 1; i < parent->body().args.size(); ++i)
        add(parent->body().args[i].get());
  }

  std::unordered_set<const ir::Value *> values;
  std::unordered_set<const ir::Op *> controlling;
};

bool isOneStep(const ir::Op &loop) {
  const ir::Op *lo = loop.operand(0)->definingOp, *hi = loop.operand(1)->definingOp;
  if (!lo || !hi || lo->kind != OpKind::Const || hi->kind != OpKind::Const)
    return false;
  double step = loop.tileSize == 0 ? 1 : static_cast<double>(loop.tileSize);
  return hi->constant - lo->constant <= step;
}

} // namespace

void Elaborator::checkWrites() {
  for (const ir::Param &param : function->params)
    if (param.mode != ir::ParamMode::In && !written.count(param.name))
      error(param.mode == ir::ParamMode::Out ? Diag::out_not_written : Diag::inout_not_written, {param.loc, param.loc},
            param.name);
  ir::walk(function->body, [&](ir::Op &op) {
    if (op.kind == OpKind::Parallel && !isOneStep(op))
      checkDisjointStores(op);
  });
}

/// A store whose indices and whose running do not depend on the block's place along this axis is made by every block
/// along it.
void Elaborator::checkDisjointStores(const ir::Op &parallel) {
  const ir::Value *index = parallel.body().args[0].get();
  Dependents dependents(index);
  ir::walk(parallel.body(), [&](ir::Op &op) {
    if (op.kind != OpKind::Store || dependents.isControlled(&op, &parallel) ||
        function->findParam(op.view.tensor)->isLocal)
      return;
    for (size_t i = 0; i + 1 < op.operands().size(); ++i)
      if (dependents.contains(op.operand(i)))
        return;
    error(Diag::stored_by_every_block, {op.loc, op.loc}, index->name, op.view.tensor);
  });
}

} // namespace tkc::sema
