// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers of products in flight. PTX ISA, "Asynchronous wgmma operations": accumulators, and A where it is in
// registers, may not be touched between the product and a wait that covers its group; and `wgmma.fence` comes between
// any other access to them and the next product, except between products into one accumulator. No variable is both: an
// accumulator's elements are wider than those of an operand (Factors.cpp). A variable and what it was moved from may be one
// register, since compilers do not see that a product in flight still reads it.
#include "ir/plan/verify/Order.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class Flight {
public:
  Flight(const Role &role, Report &report) : role(role), report(report) {}

  void run(const std::vector<Event> &events) {
    for (const Event &event : events)
      step(event);
    for (auto &[name, state] : registers)
      if (std::max(state.written, state.read) > retired)
        report.add(state.product->loc, fmt::format("`{}` ends while `{}` is in flight: no wait covers it", role.name,
                                                   print(*state.product)));
  }

private:
  struct State {
    int written = 0, read = 0; ///< last group that writes the variable, that reads it as A
    bool dirty = true;         ///< touched by vector work since the last fence
    const Stmt *product = nullptr;
  };

  void step(const Event &event) {
    const Stmt &stmt = *event.stmt;
    switch (event.kind) {
    case Event::Registers:
      return touch(stmt);
    case Event::Product:
      return stmt.isTensorProduct() ? void() : product(stmt);
    case Event::ProductFence:
      for (auto &[name, state] : registers)
        state.dirty = false;
      fenced = true;
      return;
    case Event::ProductCommit:
      ++committed;
      return;
    case Event::ProductWait:
      retired = std::max(retired, committed - stmt.as<ProductWait>().left);
      return;
    case Event::Wait:
    case Event::Arrive:
    case Event::Expect:
    case Event::CopyIn:
    case Event::CopyOut:
    case Event::BulkCommit:
    case Event::BulkWait:
    case Event::ClusterSync:
    case Event::ThreadCopy:
    case Event::CopyCommit:
    case Event::CopyWait:
    case Event::LoadShared:
    case Event::StoreShared:
    case Event::FenceProxy:
    case Event::LoadTensor:
    case Event::StoreTensor:
    case Event::TensorFence:
    case Event::Sync:
    case Event::Global:
      return;
    }
  }

  State &stateOf(const std::string &name) {
    auto [at, isNew] = registers.try_emplace(name);
    if (isNew)
      at->second.dirty = !fenced; // not touched since the fence, or it would be known
    return at->second;
  }

  void touch(const Stmt &stmt) {
    for (const std::string &name : stmt.operands) {
      State &state = stateOf(name);
      state.dirty = true;
      if (state.written > retired)
        report.add(stmt.loc,
                   fmt::format("`{}` reads `{}` while `{}` is in flight: no `product_wait` in between covers it",
                               print(stmt), name, print(*state.product)));
    }
    if (stmt.dest.empty())
      return;
    noteMove(stmt);
    State &state = stateOf(stmt.dest);
    state.dirty = true;
    if (std::max(state.written, state.read) > retired)
      report.add(stmt.loc,
                 fmt::format("`{}` writes `{}` while `{}` is in flight: no `product_wait` in between covers it",
                             print(stmt), stmt.dest, print(*state.product)));
  }

  void noteMove(const Stmt &stmt) {
    for (auto at = movedFrom.begin(); at != movedFrom.end();)
      at = at->first == stmt.dest || at->second == stmt.dest ? movedFrom.erase(at) : std::next(at);
    if (stmt.kind == StmtKind::Move && stmt.operands[0] != stmt.dest)
      movedFrom[stmt.dest] = stmt.operands[0];
  }

  void product(const Stmt &stmt) {
    State &dest = stateOf(stmt.dest);
    std::string unfenced = dest.dirty ? stmt.dest : "";
    dest.written = committed + 1;
    dest.product = &stmt;
    if (!stmt.aShared && !stmt.operands.empty()) {
      if (stateOf(stmt.operands[0]).dirty)
        unfenced = stmt.operands[0];
      for (auto name = stmt.operands[0];; name = movedFrom.at(name)) {
        stateOf(name).read = committed + 1;
        stateOf(name).product = &stmt;
        if (!movedFrom.count(name))
          break;
      }
    }
    if (!unfenced.empty())
      report.add(stmt.loc,
                 fmt::format("`{}` needs a `product_fence` between the last use of `{}` by vector work and it",
                             print(stmt), unfenced));
  }

  const Role &role;
  Report &report;
  std::map<std::string, State> registers;
  std::map<std::string, std::string> movedFrom; ///< while both hold the same
  int committed = 0, retired = 0;
  bool fenced = false;
};

} // namespace

void checkFlight(const Role &role, const std::vector<Event> &events, Report &report) {
  Flight(role, report).run(events);
}

} // namespace tkc::plan
