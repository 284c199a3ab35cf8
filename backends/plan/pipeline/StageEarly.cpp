// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/StageEarly.h"

#include <algorithm>
#include <set>
#include <string>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;

bool assigns(const plan::Stmt &stmt, const std::string &variable) {
  return plan::any(stmt, [&](const plan::Stmt &inner) { return inner.dest == variable; });
}

bool touches(const plan::Stmt &stmt, const std::string &buffer) {
  const std::vector<plan::BufferRef> refs = plan::operandRefs(stmt);
  return stmt.ref.buffer == buffer ||
         std::any_of(refs.begin(), refs.end(), [&](const plan::BufferRef &ref) { return ref.buffer == buffer; });
}

bool hasBodies(const plan::Stmt &stmt) {
  const auto bodies = stmt.bodies();
  return std::any_of(bodies.begin(), bodies.end(), [](const plan::Body *body) { return !body->empty(); });
}

/// Buffers that stores of variables alone fill, and that products alone read.
std::set<std::string> stagedBuffers(const plan::Role &role) {
  std::set<std::string> read, stored, elsewhere;
  plan::walk(role.body, [&](const plan::Stmt &stmt) {
    for (const plan::BufferRef &ref : plan::operandRefs(stmt))
      read.insert(ref.buffer);
    if (stmt.kind != Kind::Product)
      (stmt.kind == Kind::StoreShared ? stored : elsewhere).insert(stmt.ref.buffer);
  });
  std::erase_if(stored, [&](const std::string &buffer) { return !read.count(buffer) || elsewhere.count(buffer); });
  return stored;
}

class Mover {
public:
  explicit Mover(const plan::Role &role) : staged(stagedBuffers(role)) {}

  void run(plan::Body &body) {
    for (plan::Stmt &stmt : body)
      for (plan::Body *inner : stmt.bodies())
        run(*inner);
    hoist(body);
    for (size_t i = 0; i < body.size(); ++i)
      if (isStaging(body[i]))
        moveUp(body, i);
  }

private:
  bool isStaging(const plan::Stmt &stmt) const {
    return stmt.kind == Kind::StoreShared && staged.count(stmt.ref.buffer) != 0;
  }

  /// What the loops of `body` store in every iteration although it stays the same comes to stand before them.
  void hoist(plan::Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      if (body[i].kind != Kind::For || !body[i].prologue.empty())
        continue;
      plan::Body constant, varying;
      for (const plan::Stmt &stmt : body[i].body)
        (staysTheSame(stmt, body[i]) ? constant : varying).push_back(stmt);
      body[i].body = std::move(varying);
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), constant.begin(), constant.end());
      i += constant.size();
    }
  }

  bool staysTheSame(const plan::Stmt &store, const plan::Stmt &loop) const {
    if (!isStaging(store) || assigns(loop, store.operands.front()))
      return false;
    int stores = 0;
    plan::walk(loop, [&](const plan::Stmt &stmt) {
      stores += stmt.kind == Kind::StoreShared && stmt.ref.buffer == store.ref.buffer;
    });
    return stores == 1;
  }

  /// The store at `from` comes to stand behind the first product that is issued when its value is known.
  void moveUp(plan::Body &body, size_t from) {
    size_t to = from;
    for (size_t i = from; i > 0; --i) {
      const plan::Stmt &before = body[i - 1];
      if (hasBodies(before) || assigns(before, body[from].operands.front()) ||
          touches(before, body[from].ref.buffer))
        break;
      if (before.kind == Kind::Product && !before.isSynchronous())
        to = i;
    }
    std::rotate(body.begin() + static_cast<std::ptrdiff_t>(to), body.begin() + static_cast<std::ptrdiff_t>(from),
                body.begin() + static_cast<std::ptrdiff_t>(from) + 1);
  }

  const std::set<std::string> staged;
};

} // namespace

void stageEarly(plan::Role &role) { Mover(role).run(role.body); }

} // namespace tkc::planner
