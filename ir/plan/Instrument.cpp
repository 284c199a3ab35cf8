// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Instrument.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

namespace tkc::planner {

using plan::Activity;
using plan::Body;
using plan::Role;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

/// What a statement does, if it takes time worth a record; a wait says for what.
struct Doing {
  Activity activity;
  std::string name = {};
};

bool isTile(const Role &role, const std::string &name) {
  const plan::Var *var = role.findVar(name);
  return var && (var->type.kind == VarType::Fragment || var->type.kind == VarType::Column);
}

std::optional<Doing> doing(const Role &role, const Stmt &stmt) {
  const auto wait = [](std::string name) { return Doing{Activity::Wait, std::move(name)}; };
  switch (stmt.kind) {
  case StmtKind::Compute:
  case StmtKind::Spread:
    return isTile(role, stmt.dest) ? std::optional(Doing{Activity::Compute}) : std::nullopt;
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    return Doing{Activity::Compute};
  case StmtKind::Load: {
    const plan::Var *var = role.findVar(stmt.dest);
    return var && var->type.kind != VarType::Scalar ? std::optional(Doing{Activity::Copy}) : std::nullopt;
  }
  case StmtKind::Store:
  case StmtKind::Atomic:
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
  case StmtKind::StoreShared:
  case StmtKind::Expect:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::Fetch:
  case StmtKind::Place:
  case StmtKind::Claim:
    return Doing{Activity::Copy};
  case StmtKind::ProductFence:
  case StmtKind::Product:
    return Doing{Activity::Product};
  case StmtKind::Wait:
    return wait(stmt.barrier()->barrier);
  case StmtKind::ProductWait:
    return wait("products");
  case StmtKind::CopyWait:
    return wait("copies");
  case StmtKind::BulkWait:
    return wait("stores");
  case StmtKind::Sync:
  case StmtKind::Stagger:
    return wait("block");
  case StmtKind::ClusterSync:
    return wait("cluster");
  case StmtKind::Move:
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::BulkCommit:
  case StmtKind::CopyCommit:
  case StmtKind::ProductCommit:
  case StmtKind::Arrive:
  case StmtKind::Advance:
  case StmtKind::NextTile:
  case StmtKind::Record:
  case StmtKind::WaitForPrevious:
  case StmtKind::For:
  case StmtKind::If:
  case StmtKind::Ahead:
  case StmtKind::Each:
    return std::nullopt;
  }
  return std::nullopt;
}

class Instrumenter {
public:
  Instrumenter(const Role &role, Instrumentation how, int &nextId) : role(role), how(how), nextId(nextId) {}

  /// What the role is at when it comes to the next statement, where all ways there agree.
  std::optional<Activity> current;

  void body(Body &body) {
    Body result;
    for (Stmt &stmt : body) {
      const SourceLoc loc = locOf(stmt);
      if (const std::optional<Doing> next = doing(role, stmt); next && begins(stmt, *next)) {
        append(result, plan::Record{nextId++, next->activity, next->name}, loc);
        current = next->activity;
      }
      inside(stmt);
      result.push_back(std::move(stmt));
    }
    body = std::move(result);
  }

private:
  bool begins(const Stmt &stmt, const Doing &next) const {
    const bool isInside = stmt.kind == StmtKind::ProductWait || next.activity == Activity::Compute;
    if (isMixed && isInside && how == Instrumentation::Light)
      return false;
    return next.activity == Activity::Wait || next.activity != current;
  }

  /// Whether vector work stands beside products that go on meanwhile.
  bool mixes(const Body &body) const {
    const auto has = [&](Activity activity) {
      return std::any_of(body.begin(), body.end(), [&](const Stmt &stmt) {
        const std::optional<Doing> what = doing(role, stmt);
        return what && what->activity == activity && (activity != Activity::Product || !stmt.isSynchronous());
      });
    };
    return has(Activity::Product) && has(Activity::Compute);
  }

  /// Of a wait for products, which stands where the planner put it, the line of the last product that it waits for.
  SourceLoc locOf(const Stmt &stmt) {
    SourceLoc loc = stmt.loc;
    if (stmt.kind == StmtKind::Product && !stmt.isSynchronous())
      lastProduct = stmt.loc;
    else if (stmt.kind == StmtKind::ProductCommit)
      inFlight.push_back(lastProduct);
    else if (stmt.kind == StmtKind::ProductWait)
      for (; inFlight.size() > static_cast<size_t>(stmt.as<plan::ProductWait>().left); inFlight.erase(inFlight.begin()))
        loc = inFlight.front();
    return loc.isValid() ? loc : stmt.loc;
  }

  void inside(Stmt &stmt) {
    const int before = nextId;
    if (stmt.kind == StmtKind::For) {
      body(stmt.prologue);
      current.reset(); // of the first iteration or of another
      const bool outside = std::exchange(isMixed, mixes(stmt.body));
      body(stmt.body);
      isMixed = outside;
      current.reset();
      body(stmt.epilogue);
    } else {
      const std::optional<Activity> outside = current;
      body(stmt.body);
      current = outside;
      body(stmt.orElse);
    }
    if (stmt.kind == StmtKind::For || nextId > before)
      current.reset();
  }

  const Role &role;
  const Instrumentation how;
  int &nextId;
  bool isMixed = false; ///< the loop that it is in
  SourceLoc lastProduct;
  std::vector<SourceLoc> inFlight; ///< the last product of each group
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// The line that a statement begins in, from the brace on that opens in it before the statement, without comments.
std::string lineText(const SourceManager &sources, SourceLoc loc) {
  const std::string_view text = sources.text(loc.buffer);
  size_t begin = text.rfind('\n', loc.offset == 0 ? 0 : loc.offset - 1);
  begin = begin == std::string_view::npos || text[begin] != '\n' ? 0 : begin + 1;
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  const size_t brace = line.substr(0, loc.offset - begin).rfind('{');
  line = line.substr(0, line.find("//"));
  if (brace < line.size()) {
    line = trimmed(line.substr(brace + 1));
    while (line.ends_with('}'))
      line = trimmed(line.substr(0, line.size() - 1));
  }
  return std::string(trimmed(line));
}

class EventFinder {
public:
  EventFinder(const Role &role, const SourceManager &sources, uint32_t file, std::vector<RecordedEvent> &events)
      : role(role), sources(sources), file(file), events(events) {}

  void body(const Body &body) {
    std::optional<size_t> open; // of the stretch that goes on
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::Record) {
        open = events.size();
        events.push_back(eventOf(stmt));
      } else if (const unsigned line = open && doing(role, stmt) ? lineOf(stmt) : 0; line > 0) {
        RecordedEvent &event = events[*open];
        event.line = event.line == 0 ? line : std::min(event.line, line);
        event.lastLine = std::max(event.lastLine, line);
      }
      if (!stmt.prologue.empty() || !stmt.body.empty() || !stmt.epilogue.empty() || !stmt.orElse.empty())
        open.reset();
      for (const Body *inner : stmt.bodies())
        this->body(*inner);
    }
  }

private:
  unsigned lineOf(const Stmt &stmt) const {
    return stmt.loc.isValid() && stmt.loc.buffer == file ? sources.lineColumn(stmt.loc).line : 0;
  }

  RecordedEvent eventOf(const Stmt &stmt) const {
    const auto &record = stmt.as<plan::Record>();
    RecordedEvent event{record.id, role.name, record.activity, {}, lineOf(stmt), lineOf(stmt)};
    event.name = record.activity == Activity::Wait ? "wait " + record.awaited
                 : stmt.loc.isValid()              ? lineText(sources, stmt.loc)
                                                   : std::string(spelling(record.activity));
    return event;
  }

  const Role &role;
  const SourceManager &sources;
  const uint32_t file;
  std::vector<RecordedEvent> &events;
};

} // namespace

void instrument(plan::Plan &plan, Instrumentation how) {
  if (how == Instrumentation::None)
    return;
  int nextId = 0;
  for (Role &role : plan.roles) {
    const Role declared = role; // its variables, while its bodies change
    Instrumenter instrumenter(declared, how, nextId);
    instrumenter.body(role.body);
    instrumenter.current.reset();
    instrumenter.body(role.finish);
    role.headStart = 0; // records begin with the roles
  }
}

std::vector<RecordedEvent> recordedEvents(const plan::Plan &plan, const SourceManager &sources, uint32_t file) {
  std::vector<RecordedEvent> events;
  for (const Role &role : plan.roles) {
    EventFinder finder(role, sources, file, events);
    finder.body(role.body);
    finder.body(role.finish);
  }
  return events;
}

} // namespace tkc::planner
