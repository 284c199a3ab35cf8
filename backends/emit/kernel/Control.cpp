// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/RolePrinter.h"
#include "backends/emit/kernel/SplitVariables.h"
#include "backends/targets/Dialect.h"

#include "ir/plan/HeadStart.h"
#include "ir/plan/Turns.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cassert>
#include <fmt/core.h>
#include <optional>
#include <set>
#include <utility>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;

const ir::Param *KernelContext::findParam(std::string_view name) const {
  for (const ir::Param &param : plan.params)
    if (param.name == name)
      return &param;
  return nullptr;
}

cpp::Expr KernelContext::symbol(const std::string &name) const {
  for (const auto &[constant, value] : plan.constants)
    if (constant == name)
      return cpp::integer(value);
  return argument(name);
}

cpp::Expr KernelContext::argument(const std::string &name) const {
  if (const ir::Param *param = findParam(name); param && param->isLocal)
    return sharedBuffer(plan::bufferOf(*param));
  return cpp::member(cpp::name("g"), members.argument(name));
}

bool KernelContext::asksLoadsFit() const {
  const std::vector<std::string> flags = fitFlags(plan);
  return std::find(flags.begin(), flags.end(), "loads_fit") != flags.end();
}

bool KernelContext::loadsVectors(const std::string &map) const {
  const std::vector<std::pair<std::string, MapUse>> uses = mapUses(plan);
  return std::find(uses.begin(), uses.end(), std::pair(map, MapUse::LoadsVector)) != uses.end();
}

cpp::Expr KernelContext::fits(const std::string &map) const {
  return cpp::member(cpp::name("g"), loadsVectors(map) ? members.flag("vectors_fit") : members.fits(map));
}

cpp::Expr KernelContext::blockNumber() const {
  return cpp::name(fmt::format("int({}blockIdx.x){}", dialectOf(plan.arch).numbers,
                               plan.cluster > 1 ? fmt::format(" / {}", plan.cluster) : ""));
}

cpp::Expr KernelContext::loadsFit() const { return cpp::member(cpp::name("g"), members.flag("loads_fit")); }

cpp::Expr KernelContext::tensorMap(const std::string &map) const {
  return cpp::member(cpp::name("g"), members.map(map));
}

cpp::Expr KernelContext::columns() const { return cpp::member(cpp::name("g"), members.columns()); }

cpp::Expr KernelContext::sharedBuffer(const std::string &buffer) const {
  return cpp::member(cpp::name("shared"), members.buffer(buffer));
}

cpp::Expr KernelContext::sharedBarrier(const std::string &barrier) const {
  return cpp::member(cpp::name("shared"), members.barrier(barrier));
}

/// Whatever its symbols are.
static bool isNonNegative(const ir::DimExpr &dim) {
  switch (dim.kind) {
  case ir::DimExpr::Const:
    return dim.value >= 0;
  case ir::DimExpr::Symbol:
    return true;
  case ir::DimExpr::Sub:
    return false;
  case ir::DimExpr::Add:
  case ir::DimExpr::Mul:
  case ir::DimExpr::Div:
  case ir::DimExpr::Mod:
    return isNonNegative(*dim.lhs) && isNonNegative(*dim.rhs);
  }
  return false;
}

cpp::Expr KernelContext::dim(const ir::DimExpr &dim) const {
  const auto infix = [&](const char *op) { return cpp::binary(op, this->dim(*dim.lhs), this->dim(*dim.rhs)); };
  const auto divided = [&](const char *op, const char *function) {
    return isNonNegative(*dim.lhs) && dim.rhs->isConst() && dim.rhs->value > 0
               ? infix(op)
               : cpp::call(function, {this->dim(*dim.lhs), this->dim(*dim.rhs)});
  };
  switch (dim.kind) {
  case ir::DimExpr::Const:
    return cpp::integer(dim.value);
  case ir::DimExpr::Symbol:
    return symbol(dim.symbol);
  case ir::DimExpr::Add:
    return infix("+");
  case ir::DimExpr::Sub:
    return infix("-");
  case ir::DimExpr::Mul:
    return infix("*");
  case ir::DimExpr::Div:
    return divided("/", "tk::divide");
  case ir::DimExpr::Mod:
    return divided("%", "tk::modulo");
  }
  return {};
}

RolePrinter::RolePrinter(const KernelContext &kernel, const plan::Role &role, cpp::NameScope names)
    : kernel(kernel), role(splitVariables(role)), uses(this->role), accesses(this->role.body), names(std::move(names)),
      ranges(kernel.axisRanges), bounds(boundsOfLoops(this->role)) {
  for (const plan::Body *body : {&this->role.body, &this->role.finish})
    plan::walk(*body, [&](const Stmt &stmt) {
      if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead)
        ranges[stmt.dest] = {stmt.operands[0], stmt.operands[1]};
      if (stmt.kind == StmtKind::For)
        loops.insert(stmt.dest);
    });
  for (const plan::Var &var : role.vars)
    if (var.type.kind == plan::VarType::Cursor)
      nameOf(var.name);
  groupsInFlight.emplace_back();
  trackProducts(this->role.body);
}

std::string RolePrinter::nameOf(const std::string &var) {
  if (const auto ofGrid = kernel.gridNames.find(var); ofGrid != kernel.gridNames.end())
    return ofGrid->second;
  const auto [entry, isNew] = cppNames.try_emplace(std::string(withoutPart(var)));
  if (isNew)
    entry->second = names.take(identifier(entry->first));
  return entry->second;
}

cpp::Body RolePrinter::setup() {
  cpp::Body out;
  for (const plan::Var &var : role.vars)
    if (var.type.kind == plan::VarType::Cursor)
      out.push_back(cpp::Stmt::declaration(variableType(var.type, 1), nameOf(var.name)));
  std::map<std::string, std::pair<int, int>> scratches; // buffer → barrier, threads
  plan::walk(role.body, [&](const Stmt &stmt) {
    if (stmt.kind == StmtKind::Compute && !stmt.ref.buffer.empty())
      scratches[stmt.ref.buffer] = {stmt.meets.id, stmt.meets.threads};
  });
  for (const auto &[buffer, barrier] : scratches) {
    const auto member = kernel.sharedBuffer(buffer);
    const auto type = fmt::format("tk::scratch<{}, {}>", barrier.second / role.lanes,
                                  kernel.plan.findBuffer(buffer)->totalBytes() / 16 / (barrier.second / role.lanes));
    const std::string &name = scratchNames[buffer] = names.take(identifier(buffer));
    out.push_back(cpp::Stmt::declaration(type, name, cpp::braces("", {member, cpp::integer(barrier.first)})));
  }
  if (plan::isInstrumented(role))
    out.push_back(cpp::Stmt::declaration(
        kernel.recordWords == 2 ? "tk::recorder" : fmt::format("tk::recorder<{}>", kernel.recordWords), recorderName,
        cpp::braces("", {cpp::name("g.tk_trace"), cpp::name(singleThread ? "true" : "tk::lane() == 0")})));
  return out;
}

cpp::Body RolePrinter::body() {
  cpp::Body out;
  if (role.isAligned()) {
    Stmt first;
    first.kind = StmtKind::Load;
    first.view = role.alignedBy;
    first.operands = role.alignedByOperands;
    out.push_back(declareAlignment(first));
  }
  cpp::Body rest = print(role.body);
  out.insert(out.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return out;
}

cpp::Body RolePrinter::finish() {
  cpp::Body out = print(role.finish);
  if (plan::isInstrumented(role))
    out.push_back(cpp::Stmt::expression(cpp::method(cpp::name(recorderName), "finish")));
  return out;
}

namespace {

bool branches(const Stmt &stmt) {
  return !stmt.prologue.empty() || !stmt.body.empty() || !stmt.epilogue.empty() || !stmt.orElse.empty();
}

int countRecords(const plan::Body &body) {
  int count = 0;
  plan::walk(body, [&](const Stmt &stmt) { count += stmt.kind == StmtKind::Record ? 1 : 0; });
  return count;
}

} // namespace

/// The records from the one at `at` on that follow each other without a branch: one group (tk/trace.h).
RolePrinter::RecordGroup RolePrinter::groupAt(const plan::Body &body, size_t at) {
  constexpr int mostInGroup = 60;
  RecordGroup group{body[at].as<plan::Record>().id, 0, 0};
  for (; at < body.size() && !branches(body[at]) && group.count < mostInGroup; ++at)
    group.count += body[at].kind == StmtKind::Record ? 1 : 0;
  return group;
}

/// The group that the body of a loop has, if all its records are one: it is begun before the loop.
std::optional<RolePrinter::RecordGroup> RolePrinter::onlyGroup(const plan::Body &body) {
  const auto isRecord = [](const Stmt &stmt) { return stmt.kind == StmtKind::Record; };
  const auto first = std::find_if(body.begin(), body.end(), isRecord);
  if (first == body.end())
    return std::nullopt;
  const RecordGroup group = groupAt(body, first - body.begin());
  return countRecords(body) == group.count ? std::optional(group) : std::nullopt;
}

void RolePrinter::beginGroup(const RecordGroup &group, cpp::Body &out) {
  out.push_back(cpp::Stmt::expression(
      cpp::method(cpp::name(recorderName), fmt::format("group<{}, {}>", group.first, group.count), {})));
}

/// Before the loop over what `body` does.
void RolePrinter::beginGroupOf(const plan::Body &body, cpp::Body &out) {
  if (const std::optional<RecordGroup> group = onlyGroup(body)) {
    beginGroup(*group, out);
    begunGroup = &body;
  }
}

/// Of the statement at `at`, if it is a record.
void RolePrinter::printRecord(const plan::Body &body, size_t at, RecordGroup &group, cpp::Body &out) {
  const Stmt &stmt = body[at];
  if (group.printed == group.count || branches(stmt))
    group = {};
  if (stmt.kind != StmtKind::Record)
    return;
  if (group.count == 0) {
    group = groupAt(body, at);
    if (begunGroup != &body)
      beginGroup(group, out);
  }
  const auto &record = stmt.as<plan::Record>();
  const std::string what(record.activity == plan::Activity::Wait ? "wait " + record.awaited
                                                                 : spelling(record.activity));
  out.push_back(cpp::Stmt::expression(cpp::method(
      cpp::name(recorderName), fmt::format("record<{}, {}>", group.printed++, group.count), {cpp::string(what)})));
}

namespace {

/// Copies of tiles to come, and what orders them, belong to no line of the source.
bool isOwnCopying(const Stmt &stmt) {
  return stmt.kind == StmtKind::Ahead || stmt.kind == StmtKind::Stagger || stmt.kind == StmtKind::CopyCommit ||
         stmt.kind == StmtKind::CopyWait || (stmt.kind == StmtKind::Sync && stmt.as<plan::Sync>().id == 0) ||
         stmt.isThreadCopy() || stmt.kind == StmtKind::Fetch || stmt.kind == StmtKind::Place;
}

} // namespace

void RolePrinter::comment(const Stmt &stmt, cpp::Body &out) {
  if (!stmt.loc.isValid() || isOwnCopying(stmt))
    return;
  const unsigned line = kernel.sources.lineColumn(stmt.loc).line;
  if (line == lastLine || std::find(loopLines.begin(), loopLines.end(), line) != loopLines.end())
    return;
  lastLine = line;
  const std::string_view text = kernel.sources.text(stmt.loc.buffer);
  size_t begin = text.rfind('\n', stmt.loc.offset == 0 ? 0 : stmt.loc.offset - 1);
  begin = begin == std::string_view::npos || text[begin] != '\n' ? 0 : begin + 1;
  std::string_view words = text.substr(begin, text.find('\n', begin) - begin);
  words.remove_prefix(std::min(words.find_first_not_of(" \t"), words.size()));
  out.push_back(cpp::Stmt::comment(fileLine(kernel.sources, stmt.loc) + "  " + std::string(words)));
}

/// How many loops behind this statement are one pipeline with it.
static size_t loopsThatGoOn(const plan::Body &body, size_t first) {
  size_t end = first + 1;
  while (end < body.size() && body[end].kind == StmtKind::For && body[end].operands.size() > 2)
    ++end;
  return end - first - 1;
}

cpp::Body RolePrinter::print(const plan::Body &body) {
  cpp::Body out;
  const std::map<std::string, std::string> tilesOutside = declaredTiles;
  RecordGroup group;
  for (size_t i = 0; i < body.size(); ++i) {
    const Stmt &stmt = body[i];
    printRecord(body, i, group, out);
    if (stmt.kind == StmtKind::Record)
      continue;
    if (const size_t further = loopsThatGoOn(body, i); further > 0) {
      printJoined({&stmt, further + 1}, out);
      i += further;
      continue;
    }
    const bool vanishes = isPure(stmt) && (uses.isInlined(stmt.dest) || !uses.isRead(stmt.dest));
    if (vanishes)
      continue;
    for (const std::string &var : uses.declaredBefore(stmt))
      out.push_back(cpp::Stmt::declaration(typeText(var), nameOf(var)));
    if (printByElements(body, i, out))
      continue;
    comment(stmt, out);
    if (stmt.kind == StmtKind::Expect || (stmt.kind == StmtKind::CopyIn && !stmt.isThreadCopy()))
      printCopies(body, i, out);
    else if (stmt.kind == StmtKind::ProductFence)
      printProductFence(body, i, out);
    else
      printStmt(stmt, out);
  }
  declaredTiles = tilesOutside;
  return out;
}

/// A statement that one elected thread may have to itself; neighbours that it elects share the `if`.
void RolePrinter::emit(const Stmt &stmt, cpp::Body &out, cpp::Expr call) {
  cpp::Stmt statement = cpp::Stmt::expression(std::move(call));
  const bool elects = (stmt.one || stmt.kind == StmtKind::Arrive) && !singleThread;
  if (!elects && !stmt.inFirst) {
    out.push_back(std::move(statement));
    return;
  }
  const cpp::Expr isFirst = cpp::binary("==", cpp::name("rank"), cpp::integer(0));
  const cpp::Expr executes = !stmt.inFirst ? leader : elects ? cpp::binary("&&", isFirst, leader) : isFirst;
  const std::string condition = cpp::print(executes);
  if (!out.empty() && out.back().kind == cpp::Stmt::If && out.back().orElse.empty() &&
      cpp::print(out.back().expr) == condition) {
    out.back().body.push_back(std::move(statement));
    return;
  }
  out.push_back(cpp::Stmt::ifThen(executes, {std::move(statement)}));
}

cpp::Expr RolePrinter::barrierRef(const Stmt &stmt) const {
  const plan::BarrierRef &ref = *stmt.barrier();
  const plan::Barrier *barrier = kernel.plan.findBarrier(ref.barrier);
  cpp::Expr member = kernel.sharedBarrier(ref.barrier);
  if (barrier->instances > 1)
    member = cpp::subscript(member, instance);
  if (barrier->stages == 1)
    return member;
  return cpp::subscript(member, cpp::member(cpp::name(cppNames.at(ref.cursor)), "slot"));
}

void RolePrinter::printStmt(const Stmt &stmt, cpp::Body &out) {
  switch (stmt.kind) {
  case StmtKind::Compute:
    return printCompute(stmt, out);
  case StmtKind::Move:
    return assign(stmt, value(stmt.operands[0]), out);
  case StmtKind::Spread:
    return assign(stmt, spread(stmt), out);
  case StmtKind::Load:
    return printLoad(stmt, out);
  case StmtKind::Store:
  case StmtKind::Atomic:
    return printStore(stmt, out);
  case StmtKind::LoadShared:
    return printLoadShared(stmt, out);
  case StmtKind::LookUp:
    return printLookUp(stmt, out);
  case StmtKind::StoreShared:
    return printStoreShared(stmt, out);
  case StmtKind::FenceProxy:
    return emit(stmt, out, cpp::call("tk::fence_proxy_async"));
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    return printTensorAccess(stmt, out);
  case StmtKind::TensorFence:
    return emit(stmt, out,
                cpp::call(stmt.as<plan::TensorFence>().afterBarrier ? "tk::tensor_fence_after_sync"
                                                                    : "tk::tensor_fence_before_sync"));
  case StmtKind::Sync: {
    const auto &sync = stmt.as<plan::Sync>();
    if (sync.id == 0)
      return emit(stmt, out, cpp::call(sync.global ? "tk::sync_block_global" : "tk::sync_block"));
    const bool each = sync.threads < role.totalWarps() * role.lanes && instance;
    const cpp::Expr id = each ? cpp::binary("+", cpp::integer(sync.id), instance) : cpp::integer(sync.id);
    return emit(stmt, out, cpp::call(sync.global ? "tk::sync_global" : "tk::sync", {id, cpp::integer(sync.threads)}));
  }
  case StmtKind::CopyIn:
    return copyAsync(stmt, out);
  case StmtKind::Expect:
    assert(false && "print() hands runs of copies to printCopies");
    return;
  case StmtKind::Fetch:
    return printFetch(stmt, out);
  case StmtKind::Place:
    return emit(stmt, out, cpp::method(cpp::name(nameOf(stmt.operands[0])), "place", {stage(stmt.ref), threadInRole}));
  case StmtKind::CopyCommit:
    return emit(stmt, out, cpp::call("tk::copy_commit"));
  case StmtKind::Stagger: {
    const cpp::Expr half = cpp::integer(role.instances / 2);
    out.push_back(cpp::Stmt::ifThen(cpp::binary(stmt.as<plan::Stagger>().firstHalf ? "<" : ">=", instance, half),
                                    {cpp::Stmt::expression(cpp::call("tk::sync_block"))}));
    return;
  }
  case StmtKind::CopyWait:
    if (stmt.as<plan::CopyWait>().byLoads)
      return printWaitForLoads(stmt, out);
    return emit(stmt, out, cpp::call(cpp::templated("tk::copy_wait", {cpp::integer(stmt.as<plan::CopyWait>().left)})));
  case StmtKind::CopyOut:
    return printCopyOut(stmt, out);
  case StmtKind::WaitForPrevious:
    out.push_back(cpp::Stmt::expression(cpp::call("tk::launch_dependents")));
    out.push_back(cpp::Stmt::expression(cpp::call("tk::wait_for_dependencies")));
    return;
  case StmtKind::BulkCommit:
    return emit(stmt, out, cpp::call("tk::bulk_commit"));
  case StmtKind::BulkWait:
    return emit(stmt, out,
                cpp::call(cpp::templated("tk::bulk_wait_read", {cpp::integer(stmt.as<plan::BulkWait>().left)})));
  case StmtKind::ProductFence:
    assert(false && "print() hands fences to printProductFence");
    return;
  case StmtKind::Product:
    return printProduct(stmt, out);
  case StmtKind::ProductCommit:
    if (stmt.barrier())
      return printTensorCommit(stmt, out);
    if (kernel.plan.steppedAxis()) // tk::mma_columns does that
      return;
    return emit(stmt, out, cpp::call("tk::mma_commit"));
  case StmtKind::ProductWait:
    return printProductWait(stmt, out);
  case StmtKind::Wait: {
    const auto &awaited = stmt.as<plan::Wait>();
    cpp::Expr phase = cpp::member(cpp::name(cppNames.at(awaited.at.cursor)), "phase");
    if (awaited.inverted)
      phase = cpp::binary("^", phase, cpp::integer(1));
    const cpp::Expr wait = cpp::method(barrierRef(stmt), "wait", {phase});
    if (!stmt.one || singleThread || copyMode == CopyMode::Engine || !kernel.asksLoadsFit())
      return emit(stmt, out, wait);
    // Where the threads copy what the engine cannot, each of them waits for room.
    out.push_back(cpp::Stmt::ifThen(cpp::binary("||", leader, cpp::unary("!", kernel.loadsFit())),
                                    {cpp::Stmt::expression(wait)}));
    return;
  }
  case StmtKind::Arrive:
    return printArrive(stmt, out);
  case StmtKind::Claim:
    if (kernel.plan.grid.counted)
      return emit(stmt, out,
                  cpp::call("tk::claim_counted",
                            {stage(stmt.ref), barrierRef(stmt), cpp::name("g.tk_claims"),
                             cpp::member(cpp::name("block"), "number"), cpp::name("blocks"), cpp::name("tile_of")}));
    return emit(stmt, out,
                cpp::call(stmt.inCluster ? "tk::cancel_launch_multicast" : "tk::cancel_launch",
                          {stage(stmt.ref), barrierRef(stmt)}));
  case StmtKind::NextTile: {
    const cpp::Expr answer =
        kernel.plan.grid.counted
            ? cpp::call("tk::next_counted", {stage(stmt.ref)})
            : cpp::call(cpp::templated("tk::next_cluster", {cpp::integer(kernel.plan.cluster)}), {stage(stmt.ref)});
    out.push_back(cpp::Stmt::assign(cpp::name("block"), answer));
    return;
  }
  case StmtKind::Record:
    assert(false && "print() hands records to printRecords");
    return;
  case StmtKind::Advance: {
    const auto &advance = stmt.as<plan::Advance>();
    const cpp::Expr cursor = cpp::name(cppNames.at(advance.ring));
    if (advance.own)
      return emit(stmt, out, cpp::method(cursor, "advance", {instance}));
    return emit(stmt, out,
                cpp::method(cursor, advance.turns > 0 ? fmt::format("advance<{}>", advance.turns) : "advance"));
  }
  case StmtKind::ClusterSync:
    if (kernel.plan.tensorColumns > 0) // all roles meet before tensor memory is freed
      return;
    return emit(stmt, out, cpp::call("tk::cluster_sync"));
  case StmtKind::For:
    return printFor(stmt, out);
  case StmtKind::If:
    return printIf(stmt, out);
  case StmtKind::Ahead:
    return printAhead(stmt, out);
  case StmtKind::Each:
    out.push_back(cpp::Stmt::forLoop(fmt::format("int {0} = 0; {0} < {1}; ++{0}", cpp::print(instance), role.instances),
                                     print(stmt.body)));
    return;
  }
}

/// Whether nothing but products and the copies of their operands stands there.
static bool multipliesAlone(const plan::Body &body) {
  return std::all_of(body.begin(), body.end(), [](const Stmt &stmt) {
    if (stmt.kind == StmtKind::Ahead)
      return multipliesAlone(stmt.body);
    return (stmt.kind == StmtKind::Product && stmt.byWarps) || stmt.kind == StmtKind::CopyIn ||
           stmt.kind == StmtKind::CopyWait || stmt.kind == StmtKind::CopyCommit || stmt.kind == StmtKind::Sync ||
           stmt.kind == StmtKind::Advance;
  });
}

cpp::Body RolePrinter::printIteration(SourceLoc loop, const plan::Body &body) {
  // What carries values on to the next iteration belongs to the loop's line, which stands above already.
  loopLines.push_back(loop.isValid() ? kernel.sources.lineColumn(loop).line : 0);
  cpp::Body printed = print(body);
  loopLines.pop_back();
  return printed;
}

/// Whether bytes are announced there, and arrivals at the barrier tell of what threads copied beside.
static bool fills(const plan::Body &body, const std::string &barrier) {
  return plan::any(
      body, [&](const Stmt &stmt) { return stmt.kind == StmtKind::Expect && stmt.barrier()->barrier == barrier; });
}

/// In a cluster, one thread for each block that loads for this one arrives there. Where a role's threads do what is
/// meant for one of them, each warp arrives for itself.
void RolePrinter::printArrive(const Stmt &stmt, cpp::Body &out) {
  const auto &arrive = stmt.as<plan::Arrive>();
  if (arrive.byWarps || (!singleThread && plan::runsOnOneThread(role))) {
    const char *there = fills(role.body, arrive.at.barrier) ? "arrive_warp_written_at" : "arrive_warp_at";
    out.push_back(cpp::Stmt::expression(arrive.toFirst ? cpp::method(barrierRef(stmt), there, {cpp::integer(0)})
                                                       : cpp::method(barrierRef(stmt), "arrive_warp")));
    return;
  }
  if (arrive.toFirst)
    return emit(stmt, out, cpp::method(barrierRef(stmt), "arrive_at", {cpp::integer(0)}));
  if (!arrive.inCluster)
    return emit(stmt, out, cpp::method(barrierRef(stmt), "arrive"));
  const plan::Plan &plan = kernel.plan;
  const cpp::Expr block =
      plan.grid.across == 1
          ? threadInInstance
          : cpp::call(cpp::templated("tk::cluster_mate", {cpp::integer(plan.cluster / plan.grid.across)}),
                      {cpp::name("rank"), threadInInstance});
  out.push_back(cpp::Stmt::ifThen(cpp::binary("<", threadInInstance, cpp::integer(plan.mates())),
                                  {cpp::Stmt::expression(cpp::method(barrierRef(stmt), "arrive_at", {block}))}));
}

/// A loop whose loads go straight to shared memory, for tensors that all suit them, and for others: no question stands
/// between products.
void RolePrinter::printLoadingLoop(const Stmt &stmt, cpp::Body &out) {
  const std::string range = fmt::format("const auto {} : {}", nameOf(stmt.dest), tilesOf(stmt, out));
  const auto print = [&](Wide known) {
    const Wide before = std::exchange(wide, known);
    cpp::Stmt loop = cpp::Stmt::forLoop(range, printIteration(stmt.loc, stmt.body));
    wide = before;
    return loop;
  };
  cpp::Body fast = {print(Wide::Yes)}, slow = {print(Wide::No)};
  out.push_back(cpp::Stmt::ifThen(allLoadsAreWide(), std::move(fast), std::move(slow)));
}

static bool movesCursorsAlone(const plan::Body &body) {
  return std::all_of(body.begin(), body.end(), [](const Stmt &stmt) { return stmt.kind == StmtKind::Advance; });
}

/// `tk::tiles<64>`, or of tiles that instances take in turns, `tk::tiles_in_turns<64, 3>`.
static std::string rangeType(const Stmt &loop) {
  return plan::isInTurns(loop) ? fmt::format("tk::tiles_in_turns<{}, {}>", loop.tileSize, loop.turns)
                               : fmt::format("tk::tiles<{}>", loop.tileSize);
}

void RolePrinter::printFor(const Stmt &stmt, cpp::Body &out) {
  const std::string index = nameOf(stmt.dest);
  const std::string lo = cpp::print(value(stmt.operands[0])), hi = cpp::print(value(stmt.operands[1]));
  const bool pipelined = !stmt.prologue.empty() || !stmt.epilogue.empty();
  const bool inTurns = plan::isInTurns(stmt);
  const auto tiles = inTurns ? fmt::format("{}{{{{{}, {}}}, {}}}", rangeType(stmt), lo, hi, cpp::print(instance))
                             : fmt::format("{}{{{}, {}}}", rangeType(stmt), lo, hi);
  if (!pipelined) {
    beginGroupOf(stmt.body, out);
    const bool looksAhead =
        stmt.tileSize > 0 && std::any_of(stmt.body.begin(), stmt.body.end(), [&](const Stmt &inner) {
          return inner.kind == StmtKind::Ahead && inner.operands.size() > 2 && inner.operands[2] == stmt.dest;
        });
    const bool loadsAlways = std::any_of(stmt.body.begin(), stmt.body.end(), [](const Stmt &inner) {
      return inner.kind == StmtKind::Ahead && inner.always;
    });
    if (looksAhead && loadsAlways)
      return printLoadingLoop(stmt, out);
    if (looksAhead)
      return printCopyingLoop(stmt, out);
    if (stmt.tileSize > 0 && movesCursorsAlone(stmt.body)) {
      for (const Stmt &advance : stmt.body)
        emit(advance, out,
             cpp::method(cpp::name(cppNames.at(advance.as<plan::Advance>().ring)), "advance",
                         {cpp::name(tiles + ".count()")}));
      return;
    }
    const bool startsEarly = headPart != HeadPart::None && plan::headLoop(kernel.plan, role) == &stmt;
    const std::string first =
        startsEarly && headPart == HeadPart::Head ? fmt::format(".first({})", role.headStart) : std::string();
    const std::string head = stmt.tileSize == 0 ? fmt::format("int {0} = {1}; {0} < {2}; ++{0}", index, lo, hi)
                                                : fmt::format("const auto {} : {}{}", index, tiles, first);
    out.push_back(cpp::Stmt::forLoop(
        head, startsEarly && headPart == HeadPart::Rest ? printAfterHead(stmt) : printIteration(stmt.loc, stmt.body)));
    return;
  }
  const std::string range = declareRange(stmt, out);
  cpp::Body inner{cpp::Stmt::block(firstIteration(stmt, range))};
  beginGroupOf(stmt.body, inner);
  inner.push_back(otherIterations(stmt, range, "1"));
  cpp::Body epilogue = print(stmt.epilogue);
  inner.insert(inner.end(), epilogue.begin(), epilogue.end());
  lastLine = 0;
  const cpp::Expr hasAny = inTurns ? cpp::method(cpp::name(range), "any")
                                   : cpp::binary("<", value(stmt.operands[0]), value(stmt.operands[1]));
  out.push_back(cpp::Stmt::ifThen(hasAny, std::move(inner), print(stmt.orElse)));
}

/// An iteration of a loop whose first ones have had a head start: in those, cursors move on, and nothing is asked for.
cpp::Body RolePrinter::printAfterHead(const Stmt &loop) {
  const cpp::Expr isLater =
      cpp::binary(">=", cpp::member(cpp::name(nameOf(loop.dest)), "index"), cpp::integer(role.headStart));
  const cpp::Expr asks = kernel.plan.grid.persistent
                             ? cpp::binary("||", cpp::binary("!=", cpp::name("block"), kernel.blockNumber()), isLater)
                             : isLater;
  cpp::Body out{cpp::Stmt::comment("The first ones of the first tile were asked for at the beginning.")};
  for (auto at = loop.body.begin(); at != loop.body.end();) {
    const auto end = std::find_if_not(at, loop.body.end(), plan::asksForCopies);
    if (end != at)
      out.push_back(cpp::Stmt::ifThen(asks, printIteration(loop.loc, plan::Body(at, end))));
    at = std::find_if(end, loop.body.end(), plan::asksForCopies);
    cpp::Body advances = printIteration(loop.loc, plan::Body(end, at));
    out.insert(out.end(), advances.begin(), advances.end());
  }
  return out;
}

/// The name of a pipelined loop's tiles; none for integers.
std::string RolePrinter::declareRange(const Stmt &loop, cpp::Body &out) {
  if (loop.tileSize == 0)
    return {};
  const std::string range = names.take(nameOf(loop.dest) + "_tiles");
  const cpp::Expr all = cpp::braces("", {value(loop.operands[0]), value(loop.operands[1])});
  out.push_back(cpp::Stmt::declaration("const " + rangeType(loop), range,
                                       plan::isInTurns(loop) ? cpp::braces("", {all, instance}) : all));
  return range;
}

cpp::Body RolePrinter::firstIteration(const Stmt &loop, const std::string &range) {
  cpp::Body first{range.empty() ? cpp::Stmt::declaration("const int", nameOf(loop.dest), value(loop.operands[0]))
                                : cpp::Stmt::declaration("const auto", nameOf(loop.dest),
                                                         cpp::subscript(cpp::name(range), cpp::integer(0)))};
  cpp::Body prologue = printIteration(loop.loc, loop.prologue);
  first.insert(first.end(), prologue.begin(), prologue.end());
  lastLine = 0;
  return first;
}

/// All but the first `done`, an expression.
cpp::Stmt RolePrinter::otherIterations(const Stmt &loop, const std::string &range, const std::string &done) {
  const std::string index = nameOf(loop.dest);
  const std::string lo = cpp::print(value(loop.operands[0])), hi = cpp::print(value(loop.operands[1]));
  const std::string head = range.empty() ? fmt::format("int {0} = {1} + {3}; {0} < {2}; ++{0}", index, lo, hi, done)
                           : done == "1" ? fmt::format("const auto {} : {}.rest()", index, range)
                                         : fmt::format("const auto {} : {}.from({})", index, range, done);
  cpp::Stmt others = cpp::Stmt::forLoop(head, printIteration(loop.loc, loop.body));
  lastLine = 0;
  return others;
}

/// Loops that are one pipeline:
///   if (there is an iteration) { if (the first has one) its first; else the next one's first; the others of all; the
///   end }
/// A loop inside of the branch would have ptxas wait for products in flight before it does anything else.
void RolePrinter::printJoined(std::span<const Stmt> loops, cpp::Body &out) {
  for (const Stmt &loop : loops)
    for (const std::string &var : uses.declaredBefore(loop))
      out.push_back(cpp::Stmt::declaration(typeText(var), nameOf(var)));
  comment(loops.front(), out);
  std::vector<std::string> ranges;
  for (const Stmt &loop : loops)
    ranges.push_back(declareRange(loop, out));
  const auto isLess = [&](const std::string &lo, const std::string &hi) {
    return cpp::binary("<", value(lo), value(hi));
  };
  const auto any = [&](const Stmt &loop) { return isLess(loop.operands[0], loop.operands[1]); };
  std::vector<cpp::Body> begins;
  for (size_t i = 0; i < loops.size(); ++i)
    begins.push_back(firstIteration(loops[i], ranges[i]));
  cpp::Body begin = std::move(begins.back());
  for (size_t i = loops.size() - 1; i-- > 0;)
    begin = {cpp::Stmt::ifThen(any(loops[i]), std::move(begins[i]), std::move(begin))};
  cpp::Body inner = std::move(begin);
  const Stmt &last = loops.back();
  for (size_t i = 0; i < loops.size(); ++i) {
    const std::vector<std::string> &range = loops[i].operands;
    beginGroupOf(loops[i].body, inner);
    inner.push_back(otherIterations(loops[i], ranges[i],
                                    i == 0 ? "1" : fmt::format("{} ? 0 : 1", cpp::print(isLess(range[2], range[0])))));
  }
  cpp::Body epilogue = print(last.epilogue);
  inner.insert(inner.end(), epilogue.begin(), epilogue.end());
  lastLine = 0;
  out.push_back(cpp::Stmt::ifThen(cpp::binary("||", isLess(last.operands[2], last.operands[0]), any(last)),
                                  std::move(inner), print(last.orElse)));
}

/// A loop that copies ahead for itself. One of products alone is printed twice, once for tensors that all suit copies
/// of 16 bytes: a branch that no copy takes would stand between the products, and the compiler orders nothing across
/// it.
void RolePrinter::printCopyingLoop(const Stmt &stmt, cpp::Body &out) {
  const std::string range = tilesOf(stmt, out);
  const auto loop = [&] {
    return cpp::Stmt::forLoop(fmt::format("const auto {} : {}", nameOf(stmt.dest), range),
                              printIteration(stmt.loc, stmt.body));
  };
  if (!multipliesAlone(stmt.body)) {
    out.push_back(loop());
    return;
  }
  std::set<std::string> wide;
  assumedWide = &wide;
  cpp::Stmt fast = loop();
  assumedWide = nullptr;
  if (wide.empty()) {
    out.push_back(std::move(fast));
    return;
  }
  std::optional<cpp::Expr> all;
  for (const std::string &tensor : wide) {
    const cpp::Expr one = cpp::method(kernel.argument(tensor), "wide");
    all = all ? cpp::binary("&&", *all, one) : one;
  }
  out.push_back(cpp::Stmt::ifThen(*all, {std::move(fast)}, {loop()}));
}

/// Whether some statement moves a cursor on; else it stands at stage 0 throughout.
static bool moves(const plan::Role &role, const std::string &cursor) {
  const auto advances = [&](const Stmt &stmt) {
    const auto *advance = stmt.getIf<plan::Advance>();
    return advance && advance->ring == cursor;
  };
  return plan::any(role.body, advances) || plan::any(role.finish, advances);
}

/// A branch whose turn is always that of the first instance.
static bool isOfFirst(const plan::Role &role, const Stmt &branch) {
  return !branch.turn.empty() && !moves(role, branch.turn);
}

cpp::Expr RolePrinter::conditionOf(const Stmt &stmt) {
  if (isOfFirst(role, stmt))
    return cpp::binary("==", instance, cpp::integer(0));
  if (!stmt.turn.empty())
    return cpp::binary("==", cpp::member(cpp::name(cppNames.at(stmt.turn)), "slot"), instance);
  const cpp::Expr holds = stmt.operands.empty() ? cpp::Expr() : value(stmt.operands[0]);
  if (stmt.map.empty())
    return holds;
  const cpp::Expr fits = kernel.fits(stmt.map);
  return holds ? cpp::binary("&&", fits, holds) : fits;
}

void RolePrinter::printIf(const Stmt &stmt, cpp::Body &out) {
  const cpp::Expr condition = conditionOf(stmt);
  const bool knewVectors = std::exchange(vectorsFit, vectorsFit || kernel.loadsVectors(stmt.map));
  const bool wasOfOne = std::exchange(ofOneInstance, ofOneInstance || !stmt.turn.empty());
  cpp::Body then = print(stmt.body);
  ofOneInstance = wasOfOne;
  vectorsFit = knewVectors;
  lastLine = 0;
  cpp::Body otherwise = print(stmt.orElse);
  if (then.empty() && otherwise.empty())
    return;
  if (then.empty()) {
    out.push_back(cpp::Stmt::ifThen(isOfFirst(role, stmt) ? cpp::binary("!=", instance, cpp::integer(0))
                                                          : cpp::unary("!", condition),
                                    std::move(otherwise)));
    return;
  }
  out.push_back(cpp::Stmt::ifThen(condition, std::move(then), std::move(otherwise)));
}

} // namespace tkc::cuda
