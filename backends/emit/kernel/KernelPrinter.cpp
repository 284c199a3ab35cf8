// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of a kernel: its arguments, its shared memory, the set-up of barriers, and the roles as branches of one
// `if`.
#include "backends/emit/kernel/KernelPrinter.h"

#include "backends/cpp/Identifiers.h"
#include "backends/emit/kernel/AllRoles.h"
#include "backends/emit/kernel/BlockRegisters.h"
#include "backends/emit/kernel/DropUnused.h"
#include "backends/emit/kernel/GridDivisors.h"
#include "backends/emit/kernel/GridPrinter.h"
#include "backends/emit/kernel/RolePrinter.h"
#include "backends/targets/Description.h"
#include "backends/targets/Dialect.h"
#include "ir/Views.h"
#include "ir/plan/HeadStart.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cassert>
#include <fmt/core.h>
#include <set>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

/// The kernel's parameter where each tile of a block reads the arguments again, as `g`.
constexpr const char *argumentsAtStart = "arguments";

class KernelPrinter {
public:
  KernelPrinter(const plan::Plan &plan, std::string name, const SourceManager &sources, const PrintOptions &options)
      : plan(plan), name(std::move(name)), sources(sources), onlyIf(options.onlyIf),
        kernel{.plan = plan,
               .sources = sources,
               .splitBuffers = {},
               .scaleBuffers = {},
               .preludeValues = {},
               .axisRanges = {},
               .axisTypes = {},
               .correctlyRounded = plan::correctlyRounded(plan),
               .ignoredNaN = plan::ignoredNaN(plan),
               .recordWords = options.recordWords,
               .members = MemberNames(plan, this->name),
               .gridNames = {},
               .rangeNames = {},
               .gridBounds = {}} {
    findSplitBuffers();
    findRanges();
    for (const char *word :
         {"g", "recorder", "shared", "tensor", "rank", "warpgroup", "warp", "leader", "position", "block", "blocks"})
      names.reserve(word);
    if (grid.rereadsArguments())
      names.reserve(argumentsAtStart);
    for (const std::string &type : {argumentsOf(this->name), sharedOf(this->name)})
      names.reserve(type);
    nameGrid();
  }

  std::string run() {
    std::string text = arguments();
    if (hasShared())
      text += sharedMemory();
    return text + function();
  }

private:
  bool hasShared() const { return !plan.buffers.empty() || !plan.barriers.empty() || plan.tensorColumns > 0; }

  // ---- what the roles must know ------------------------------------------------------------------------------------

  /// Buffers of which every instance touches its own rows only are arrays of what an instance owns.
  void findSplitBuffers() {
    std::map<std::string, bool> alwaysRows;
    for (const plan::Role &role : plan.roles) {
      const auto note = [&](const plan::BufferRef &ref) {
        if (ref.buffer.empty())
          return;
        const bool rows = ref.slice == plan::Division::Rows && role.instances > 1 && !ref.transposed;
        const auto [entry, isNew] = alwaysRows.try_emplace(ref.buffer, rows);
        if (!isNew)
          entry->second &= rows;
        instancesOf[ref.buffer] = role.instances;
      };
      const auto visit = [&](const Stmt &stmt) {
        note(stmt.ref);
        note(stmt.aRef);
        for (const plan::BufferRef &scales : stmt.scales) {
          note(scales);
          kernel.scaleBuffers[scales.buffer] = stmt.isTensorProduct();
        }
      };
      walk(role.body, visit);
      walk(role.finish, visit);
    }
    for (const auto &[buffer, rows] : alwaysRows)
      if (rows || hasTileEach(buffer))
        kernel.splitBuffers.insert(buffer);
  }

  bool hasTileEach(const std::string &name) const {
    const plan::Buffer *buffer = plan.findBuffer(name);
    return buffer && buffer->instances > 1;
  }

  void findRanges() {
    for (const plan::GridAxis &axis : plan.grid.axes)
      noteAxis(axis);
  }

  void noteAxis(const plan::GridAxis &axis) {
    kernel.axisRanges[axis.name] = {axis.lo, axis.hi};
    VarType type;
    type.kind = axis.tileSize > 0 ? VarType::TileIndex : VarType::Scalar;
    type.elem = ElemType::I32;
    type.rows = std::max<int64_t>(axis.tileSize, 1);
    type.layout = {};
    kernel.axisTypes[axis.name] = type;
  }

  /// What finds a block's tiles stands around every role.
  void nameGrid() {
    if (plan.grid.rasterGroup > 0)
      for (const char *word : {"at", "row", "outer"})
        names.reserve(word);
    if (plan.grid.counted)
      for (const char *word : {"number", "tile_of"})
        names.reserve(word);
    for (const plan::Role &role : plan.roles)
      if (role.processes() > 1) // says which of them it is
        names.reserve(role.name);
    for (const plan::GridAxis &axis : plan.grid.axes) {
      const std::string &var = kernel.gridNames[axis.name] = names.take(identifier(axis.name));
      if (axis.tileSize > 0)
        kernel.rangeNames[axis.name] = names.take(var + "_tiles");
    }
  }

  // ---- structs -----------------------------------------------------------------------------------------------------

  /// A kernel with tensor maps reads few other arguments before it asks for copies. These stand together at the front,
  /// as each line of the constant cache that is read first costs the latency of memory.
  std::string arguments() {
    const std::string tensors = mapAndTensorMembers(), numbers = numberMembers();
    std::string text = fmt::format("struct {} {{\n", argumentsOf(name));
    text += plan.maps.empty() ? tensors + numbers : numbers + tensors;
    if (plan.grid.counted)
      text += "  tk::tile_claims tk_claims;\n";
    if (isInstrumented(plan))
      text += "  tk::trace tk_trace;\n";
    return text + "};\n\n";
  }

  std::string mapAndTensorMembers() {
    std::string text;
    for (const plan::TensorMap &map : plan.maps)
      text += fmt::format("  tk::{} {};\n", map.tiledBy.empty() ? "tensor_map" : "columns_map",
                          kernel.members.map(map.name));
    for (const ir::Param &param : plan.params) {
      const std::string &id = kernel.members.argument(param.name);
      if (!param.isTensor)
        text += fmt::format("  {} {};\n", elementType(param.elem), id);
      else if (param.isPresent && !param.isLocal)
        text += fmt::format("  tk::global<{}{}, {}> {};\n", param.mode == ir::ParamMode::In ? "const " : "",
                            elementType(param.elem), param.dims.size(), id);
    }
    return text;
  }

  /// Dims, what places on the grid are found by, and what the launcher found out.
  std::string numberMembers() {
    std::string text;
    for (const std::string &symbol : runtimeSymbols(plan))
      text += fmt::format("  int {};\n", kernel.members.argument(symbol));
    for (const GridDivisor &divisor : gridDivisors(plan))
      text += fmt::format("  {} {};\n", typeOf(divisor, plan.grid), kernel.members.divisor(divisor.key));
    if (plan.steppedAxis())
      text += fmt::format("  tk::tile_columns {};\n", kernel.members.columns());
    return text + fitsMembers();
  }

  /// What the launcher found out about the tensors, with the comments in one column.
  std::string fitsMembers() {
    std::vector<std::pair<std::string, std::string_view>> members;
    for (const std::string &flag : fitFlags(plan))
      members.emplace_back(fmt::format("bool {};", kernel.members.flag(flag)),
                           flag == "vectors_fit" ? "and every vector"
                                                 : "the copy engine can load every tensor that it is to");
    for (const auto &[map, use] : mapUses(plan))
      if (use == MapUse::LoadsTile && asksEachLoad(plan))
        members.emplace_back(fmt::format("bool {};", kernel.members.fits(map)), "this one at least");
    for (const auto &[map, use] : mapUses(plan))
      if (use == MapUse::Stores && !plan.aligned)
        members.emplace_back(fmt::format("bool {};", kernel.members.fits(map)), "and store this one");
    size_t width = 0;
    for (const auto &[member, comment] : members)
      width = std::max(width, member.size());
    std::string text;
    for (const auto &[member, comment] : members)
      text += fmt::format("  {:<{}} // {}\n", member, width, comment);
    return text;
  }

  std::string sharedMemory() {
    std::string text = fmt::format("struct {} {{\n", sharedOf(name));
    for (const plan::Buffer &buffer : plan.buffers)
      if (buffer.aliasOf.empty())
        text += member(buffer);
    for (const plan::Barrier &barrier : plan.barriers)
      text += fmt::format("  tk::barrier {}{}{};\n", kernel.members.barrier(barrier.name),
                          barrier.instances > 1 ? fmt::format("[{}]", barrier.instances) : "",
                          barrier.stages > 1 ? fmt::format("[{}]", barrier.stages) : "");
    if (plan.tensorColumns > 0)
      text += "  tk::u32 tensor; // the address of the block's tensor memory\n";
    return text + "};\n\n";
  }

  std::string member(const plan::Buffer &buffer) {
    std::string declaration = plainMember(buffer);
    std::vector<const plan::Buffer *> aliases;
    for (const plan::Buffer &other : plan.buffers)
      if (other.aliasOf == buffer.name)
        aliases.push_back(&other);
    if (aliases.empty())
      return "  " + declaration;
    std::string text = "  union {\n    " + declaration;
    for (const plan::Buffer *alias : aliases)
      text += "    " + plainMember(*alias);
    return text + "  };\n";
  }

  std::string plainMember(const plan::Buffer &buffer) {
    const auto scratch = scratchThreads(buffer.name);
    if (scratch > 0)
      return fmt::format("tk::scratch_memory<{}, {}> {};\n", scratch / lanes(),
                         buffer.totalBytes() / 16 / (scratch / lanes()), kernel.members.buffer(buffer.name));
    if (isResponse(buffer.name))
      return fmt::format("tk::{} {}[{}];\n", plan.grid.counted ? "counted_tile" : "launch_response",
                         kernel.members.buffer(buffer.name), buffer.stages);
    for (const ir::Param &param : plan.params)
      if (param.isLocal && plan::bufferOf(param) == buffer.name)
        return localMember(param, buffer);
    const bool split = kernel.splitBuffers.count(buffer.name) != 0;
    const int instances = instancesOf.count(buffer.name) ? instancesOf[buffer.name] : 1;
    const int sharing = buffer.instances > 1 ? 1 : instances; // of the rows of one tile
    const auto scales = kernel.scaleBuffers.find(buffer.name);
    const bool areScales = scales != kernel.scaleBuffers.end();
    const std::string type =
        areScales && scales->second
            ? fmt::format("tk::scale_tile<{}, {}, {}>", elementType(buffer.elem), buffer.rows, buffer.cols)
            : bufferType(buffer, split ? buffer.rows / sharing : buffer.rows, areScales);
    const bool aligned = buffer.swizzle == plan::Swizzle::B128 && buffer.rows > 1 && buffer.cols > 1;
    return fmt::format("{}{} {}{}{};\n", aligned ? "" : fmt::format("alignas({}) ", alignmentOf(buffer)), type,
                       kernel.members.buffer(buffer.name), buffer.stages > 1 ? fmt::format("[{}]", buffer.stages) : "",
                       split ? fmt::format("[{}]", instances) : "");
  }

  /// Memory that the block has as it has tensors.
  std::string localMember(const ir::Param &param, const plan::Buffer &buffer) const {
    std::string dims;
    for (const ir::DimExpr &dim : param.dims)
      dims += fmt::format(", {}", dim.value);
    return fmt::format("alignas({}) tk::local<{}{}> {};\n", alignmentOf(buffer), elementType(param.elem), dims,
                       kernel.members.buffer(buffer.name));
  }

  int64_t alignmentOf(const plan::Buffer &buffer) const {
    return buffer.offset % (8 * plan.sharedSpan) == 0 ? 8 * plan.sharedSpan : packedAlignment;
  }

  /// Of buffers that do not begin where swizzles repeat.
  static constexpr int64_t packedAlignment = 128;

  bool isResponse(const std::string &buffer) const {
    return any(plan, [&](const Stmt &stmt) { return stmt.kind == StmtKind::Claim && stmt.ref.buffer == buffer; });
  }

  int lanes() const { return plan.roles.front().lanes; }

  int scratchThreads(const std::string &buffer) const {
    int threads = 0;
    walk(plan, [&](const Stmt &stmt) {
      if (stmt.kind == StmtKind::Compute && stmt.ref.buffer == buffer)
        threads = stmt.meets.threads;
    });
    return threads;
  }

  // ---- the function ------------------------------------------------------------------------------------------------

  std::string function() {
    cpp::Body body;
    if (hasShared() && dialect.hasStaticShared)
      body.push_back(cpp::Stmt::declaration("__shared__ " + sharedOf(name), "shared"));
    else if (hasShared())
      body.push_back(cpp::Stmt::declaration(
          "auto &", "shared",
          cpp::call(cpp::templated("tk::shared_at", {cpp::name(sharedOf(name))}), {cpp::integer(0)})));
    const bool byGroup = std::all_of(plan.roles.begin(), plan.roles.end(), [](const plan::Role &role) {
      return role.lanes == 32 && role.firstWarp % 4 == 0 && role.warps % 4 == 0;
    });
    const bool divides = plan.roles.size() > 1 || plan.roles.front().instances > 1;
    if (divides && byGroup)
      body.push_back(cpp::Stmt::declaration("const int", "warpgroup", cpp::call("tk::warpgroup_index")));
    else if (divides)
      body.push_back(cpp::Stmt::declaration("const int", "warp", cpp::call("tk::warp_index")));
    if (plan.cluster > 1)
      body.push_back(cpp::Stmt::declaration("const int", "rank", cpp::call("tk::cluster_rank")));
    cpp::Body prelude;
    printPrelude(prelude);
    setUpBlock(body, prelude);
    if (plan.grid.counted)
      body.push_back(grid.tileOf());
    resizeSharedWarpgroups(body);
    cpp::Body roles;
    for (auto role = plan.roles.rbegin(); role != plan.roles.rend(); ++role) {
      cpp::Body branch = printRole(*role, byGroup);
      if (plan.roles.size() == 1)
        roles = std::move(branch);
      else if (roles.empty())
        roles = std::move(branch);
      else
        roles = {cpp::Stmt::ifThen(condition(*role, byGroup), std::move(branch), std::move(roles))};
    }
    body.insert(body.end(), roles.begin(), roles.end());
    releaseTensor(body);
    dropUnused(body);
    if (grid.rereadsArguments())
      cpp::rename(body, "g", argumentsAtStart);
    std::string text = comment();
    text += fmt::format("{} {}({} {} {}) {{\n", dialect.kernelHead(plan.threads, blocksAtOnce(plan)), name,
                        dialect.argument, argumentsOf(name), grid.rereadsArguments() ? argumentsAtStart : "g");
    text += onlyIf.empty() ? cpp::print(body, 2)
                           : fmt::format("#if {}\n{}#else\n  {}(); // never launched\n#endif\n", onlyIf,
                                         cpp::print(body, 2), dialect.trap);
    return text + "}\n\n";
  }

  std::string comment() {
    std::string text;
    std::string doc = plan.doc;
    const auto lines = [&](std::string_view words) {
      while (!words.empty()) {
        const size_t end = words.find('\n');
        text += "/// " + std::string(words.substr(0, end)) + "\n";
        words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
      }
    };
    if (plan.loc.isValid())
      text += fmt::format("/// {}  {}, for {}.\n", fileLine(sources, plan.loc), plan.kernel, plan.arch);
    lines(doc);
    std::string chosen;
    for (const auto &[what, value] : plan.decisions)
      chosen += (chosen.empty() ? "" : "; ") + what + ": " + value;
    std::string constants;
    for (const auto &[constant, value] : plan.constants)
      constants += fmt::format("{}{} = {}", constants.empty() ? "" : ", ", constant, value);
    if (!constants.empty())
      lines(constants + ".");
    if (!chosen.empty())
      lines("Plan: " + chosen + ".");
    std::string roles;
    for (const plan::Role &role : plan.roles)
      roles += fmt::format("{}{}{} of {} warp{}", roles.empty() ? "" : ", ",
                           role.processes() > 1 ? fmt::format("{} × ", role.processes()) : "", role.name, role.warps,
                           role.warps == 1 ? "" : "s");
    lines(fmt::format("Roles: {}.", roles));
    std::string shared;
    for (const plan::Buffer &buffer : plan.buffers)
      shared += fmt::format("{}{} {}", shared.empty() ? "" : ", ", buffer.name, bytesText(buffer.totalBytes()));
    if (!shared.empty())
      lines("Shared memory: " + shared + ".");
    return text;
  }

  static std::string bytesText(int64_t bytes) {
    return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} bytes", bytes);
  }

  /// Barriers, tensor memory, and what the block computes before its roles part.
  void setUpBlock(cpp::Body &body, cpp::Body &prelude) {
    const auto role =
        std::find_if(plan.roles.begin(), plan.roles.end(), [](const plan::Role &role) { return role.headStart > 0; });
    if (role != plan.roles.end()) { // which reads these values, too
      const auto rest = std::stable_partition(
          prelude.begin(), prelude.end(), [](const cpp::Stmt &stmt) { return stmt.kind == cpp::Stmt::Declaration; });
      body.insert(body.end(), prelude.begin(), rest);
      prelude.erase(prelude.begin(), rest);
      beginWithHead(*role, body);
    } else {
      prefetchMaps(body);
      initBarriers(body);
    }
    allocateTensor(body);
    body.insert(body.end(), prelude.begin(), prelude.end());
  }

  /// The thread that loads makes the barriers, and asks for the first stages before the block meets.
  void beginWithHead(const plan::Role &role, cpp::Body &body) {
    const plan::Stmt &loop = *plan::headLoop(plan, role);
    std::set<std::string> filled;
    plan::walk(loop.body, [&](const Stmt &stmt) {
      if (stmt.kind == StmtKind::Expect)
        filled.insert(stmt.barrier()->barrier);
    });
    cpp::Body setUp, others;
    for (const plan::Barrier &barrier : plan.barriers)
      initBarrier(barrier, filled.count(barrier.name) ? setUp : others);
    setUp.push_back(cpp::Stmt::expression(cpp::call("tk::barrier_init_fence")));
    cpp::Body head = printHead(role);
    if (plan.aligned)
      head = {cpp::Stmt::block(std::move(head))};
    else
      head = {cpp::Stmt::ifThen(allFit(), std::move(head))};
    setUp.insert(setUp.end(), head.begin(), head.end());
    setUp.insert(setUp.end(), others.begin(), others.end());
    setUp.push_back(cpp::Stmt::expression(cpp::call("tk::barrier_init_fence")));
    body.push_back(cpp::Stmt::ifThen(isElectedOf(role), std::move(setUp)));
    allocateAndMeet(body);
  }

  /// The copies of a head start, for the block's first tile.
  cpp::Body printHead(const plan::Role &whole) {
    plan::Role role = whole;
    const plan::Stmt &loop = *plan::headLoop(plan, role);
    role.body.resize(&loop - role.body.data() + 1);
    std::erase_if(role.body.back().body, [](const Stmt &stmt) { return stmt.kind == StmtKind::Wait; });
    plan::walk(role.body, [](Stmt &stmt) { stmt.loc = {}; }); // comments speak of the role's own loop
    role.finish.clear();
    cpp::Body out{cpp::Stmt::comment("The first stages, before the block meets.")};
    if (waitsForPrevious(plan))
      out.push_back(cpp::Stmt::expression(cpp::call("tk::wait_for_dependencies")));
    RolePrinter printer(kernel, role, names);
    printer.copyMode = CopyMode::Engine;
    printer.singleThread = true;
    printer.headPart = HeadPart::Head;
    for (const cpp::Body &part : {printer.setup(), grid.firstTile(), printer.body()})
      out.insert(out.end(), part.begin(), part.end());
    return out;
  }

  /// In the thread that executes a role of one thread.
  static cpp::Expr isElectedOf(const plan::Role &role) {
    return cpp::binary("&&", cpp::binary("==", cpp::call("tk::warp_index"), cpp::integer(role.firstWarp)),
                       cpp::call("tk::elect_one"));
  }

  /// The copy engine reads a map before it copies. So the thread that will ask it first has the maps fetched while the
  /// block is set up.
  void prefetchMaps(cpp::Body &body) const {
    const plan::Role *loading = nullptr;
    for (const plan::Role &role : plan.roles)
      plan::walk(role.body, [&](const Stmt &stmt) {
        if (stmt.kind == StmtKind::CopyIn && !stmt.map.empty() && !loading)
          loading = &role;
      });
    if (!loading)
      return;
    cpp::Body fetch;
    for (const auto &[map, use] : mapUses(plan))
      if (use == MapUse::LoadsTile)
        fetch.push_back(cpp::Stmt::expression(cpp::call("tk::prefetch", {kernel.tensorMap(map)})));
    if (fetch.empty())
      return;
    cpp::Expr asks = cpp::binary("==", cpp::call("tk::warp_index"), cpp::integer(loading->firstWarp));
    if (kernel.asksLoadsFit())
      asks = cpp::binary("&&", kernel.loadsFit(), asks);
    asks = cpp::binary("&&", asks, cpp::call("tk::elect_one"));
    body.push_back(cpp::Stmt::ifThen(asks, std::move(fetch)));
  }

  void initBarriers(cpp::Body &body) {
    if (plan.barriers.empty())
      return;
    cpp::Body init;
    for (const plan::Barrier &barrier : plan.barriers)
      initBarrier(barrier, init);
    init.push_back(cpp::Stmt::expression(cpp::call("tk::barrier_init_fence")));
    body.push_back(cpp::Stmt::ifThen(cpp::binary("==", cpp::name("threadIdx.x"), cpp::integer(0)), std::move(init)));
    allocateAndMeet(body);
  }

  void initBarrier(const plan::Barrier &barrier, cpp::Body &out) const {
    const cpp::Expr member = kernel.sharedBarrier(barrier.name);
    const cpp::Expr arrivals = arrivalsAt(barrier);
    const auto forEach = [](const std::string &name, const cpp::Expr &of, cpp::Stmt inner) {
      return cpp::Stmt::forLoop("auto &" + name + " : " + cpp::print(of), {std::move(inner)});
    };
    const cpp::Stmt each = cpp::Stmt::expression(cpp::method(cpp::name("barrier"), "init", {arrivals}));
    if (barrier.stages == 1 && barrier.instances == 1)
      out.push_back(cpp::Stmt::expression(cpp::method(member, "init", {arrivals})));
    else if (barrier.stages == 1 || barrier.instances == 1)
      out.push_back(forEach("barrier", member, each));
    else
      out.push_back(forEach("ring", member, forEach("barrier", cpp::name("ring"), each)));
  }

  void allocateAndMeet(cpp::Body &body) const {
    if (plan.tensorColumns > 0) { // made known with the barriers
      body.push_back(ofAllocatingWarp(isPaired() ? "tk::pair_allocate" : "tk::tensor_allocate",
                                      cpp::member(cpp::name("shared"), "tensor")));
      body.push_back(cpp::Stmt::expression(cpp::call("tk::tensor_fence_before_sync")));
    }
    body.push_back(cpp::Stmt::expression(cpp::call(othersReachBarriers() ? "tk::cluster_sync" : "tk::sync_block")));
  }

  /// Whether blocks of the cluster use each other's barriers, which must then be there in all of them. Blocks that only
  /// read what others have stored meet before that.
  bool othersReachBarriers() const { return plan.cluster > 1 && any(plan, plan::reachesOtherBlocks); }

  /// Where the launcher leaves copies to the threads of a role, each of them arrives, not the one that asks the engine.
  cpp::Expr arrivalsAt(const plan::Barrier &barrier) const {
    const plan::Role *filler = nullptr;
    int more = 0; // where threads copy
    for (const plan::Role &role : plan.roles)
      walk(role.body, [&](const Stmt &stmt) {
        const int warps = role.totalWarps();
        const plan::BarrierRef *ref = stmt.barrier();
        if (!ref || ref->barrier != barrier.name || !copiesIn(role))
          return;
        if (const auto *expect = stmt.getIf<plan::Expect>(); expect && stmt.one) {
          filler = &role;
          more = warps * 32 * (isPaired() ? plan.cluster : 1) - (expect->toFirst ? plan.cluster : 1);
        } else if (const auto *arrive = stmt.getIf<plan::Arrive>(); arrive && plan::runsOnOneThread(role)) {
          filler = &role;
          more = (warps - 1) * (arrive->toFirst ? plan.cluster : 1);
        }
      });
    if (!filler || more == 0 || plan.aligned || (!plan::runsOnOneThread(*filler) && !kernel.asksLoadsFit()))
      return cpp::integer(barrier.arrivals);
    const cpp::Expr fits = plan::runsOnOneThread(*filler) ? allFit() : kernel.loadsFit();
    return cpp::conditional(fits, cpp::integer(barrier.arrivals), cpp::integer(barrier.arrivals + more));
  }

  /// Whether the copy engine takes all that the plan leaves to it.
  cpp::Expr allFit() const {
    cpp::Expr all;
    for (const std::string &flag : fitFlags(plan)) {
      const cpp::Expr fits = cpp::member(cpp::name("g"), kernel.members.flag(flag));
      all = all ? cpp::binary("&&", all, fits) : fits;
    }
    return all;
  }

  /// Tensor memory is allocated and freed by the block's first warp.
  cpp::Stmt ofAllocatingWarp(const char *what, const cpp::Expr &address) const {
    return cpp::Stmt::ifThen(
        cpp::binary("==", cpp::call("tk::warp_index"), cpp::integer(0)),
        {cpp::Stmt::expression(cpp::call(cpp::templated(what, {cpp::integer(plan.tensorColumns)}), {address}))});
  }

  void allocateTensor(cpp::Body &body) const {
    if (plan.tensorColumns == 0)
      return;
    body.push_back(cpp::Stmt::expression(cpp::call("tk::tensor_fence_after_sync")));
    body.push_back(cpp::Stmt::declaration("const tk::u32", "tensor", cpp::member(cpp::name("shared"), "tensor")));
  }

  /// When all roles have ended.
  void releaseTensor(cpp::Body &body) const {
    if (plan.tensorColumns == 0)
      return;
    body.push_back(cpp::Stmt::expression(cpp::call("tk::tensor_fence_before_sync")));
    body.push_back(cpp::Stmt::expression(cpp::call(plan.cluster > 1 ? "tk::cluster_sync" : "tk::sync_block")));
    body.push_back(cpp::Stmt::expression(cpp::call("tk::tensor_fence_after_sync")));
    body.push_back(ofAllocatingWarp(isPaired() ? "tk::pair_release" : "tk::tensor_release", cpp::name("tensor")));
  }

  bool isPaired() const { return kernel.multipliesByPairs(); }

  cpp::Expr condition(const plan::Role &role, bool byGroup) {
    const int unit = byGroup ? 4 : 1;
    const cpp::Expr index = cpp::name(byGroup ? "warpgroup" : "warp");
    const int first = role.firstWarp / unit, end = (role.firstWarp + role.totalWarps()) / unit;
    if (end - first == 1)
      return cpp::binary("==", index, cpp::integer(first));
    const cpp::Expr below = cpp::binary("<", index, cpp::integer(end));
    return first == 0 ? below : cpp::binary("&&", cpp::binary(">=", index, cpp::integer(first)), below);
  }

  // ---- the grid ----------------------------------------------------------------------------------------------------

  /// The prelude's values: short ones stand where they are used, the others get names.
  void printPrelude(cpp::Body &body) {
    plan::Role nobody;
    nobody.name = "prelude";
    nobody.vars = plan.preludeVars;
    nobody.body = plan.prelude;
    std::set<std::string> ofGrid; // bounds that each role reads for itself as it walks a ragged grid
    for (const plan::GridAxis &axis : plan.grid.axes)
      for (const Stmt &stmt : axis.bounds)
        ofGrid.insert(stmt.dest);
    for (const plan::GridAxis &axis : plan.grid.axes) // keeps what only the grid reads
      for (const std::string &bound : {axis.lo, axis.hi}) {
        if (!ofGrid.count(bound))
          nobody.body.push_back(reading({bound}));
      }
    const Uses byGridAlone(nobody);
    for (const Stmt &stmt : plan.prelude) // keeps what others read by its name
      if (isPure(stmt) && !byGridAlone.isInlined(stmt.dest) && !byGridAlone.isRead(stmt.dest) &&
          isReadElsewhere(stmt.dest))
        nobody.body.push_back(reading({stmt.dest}));
    prelude = std::make_unique<plan::Role>(std::move(nobody));
    RolePrinter printer(kernel, *prelude, names);
    for (const plan::Var &var : plan.preludeVars) {
      const bool isGridAxis = kernel.axisRanges.count(var.name) != 0;
      if (!isGridAxis && !ofGrid.count(var.name))
        kernel.preludeValues[var.name] = printer.valueOf(var.name);
    }
    cpp::Body statements = printer.body();
    body.insert(body.end(), statements.begin(), statements.end());
    names = printer.scope();
    printGridBounds();
  }

  /// By roles, or by the bounds of a ragged grid.
  bool isReadElsewhere(const std::string &var) const {
    const auto reads = [&](const Stmt &stmt) {
      return std::find(stmt.operands.begin(), stmt.operands.end(), var) != stmt.operands.end();
    };
    return any(plan, reads) || std::any_of(plan.grid.axes.begin(), plan.grid.axes.end(),
                                           [&](const plan::GridAxis &axis) { return plan::any(axis.bounds, reads); });
  }

  /// Each role reads them for itself, in front of its loop over the tiles that they bound.
  void printBounds(const plan::GridAxis &axis, const std::vector<std::string> &readLater) {
    plan::Role grid;
    grid.name = "grid";
    grid.body = axis.bounds;
    plan::walk(grid.body, [](Stmt &stmt) { stmt.loc = {}; }); // comments speak of the roles' work
    for (const plan::Var &var : plan.preludeVars)
      if (std::any_of(axis.bounds.begin(), axis.bounds.end(), [&](const Stmt &stmt) { return stmt.dest == var.name; }))
        grid.vars.push_back(var);
    grid.body.push_back(reading(readLater));
    RolePrinter printer(kernel, grid, names);
    for (const plan::Var &var : grid.vars)
      kernel.preludeValues[var.name] = printer.valueOf(var.name);
    kernel.gridBounds[axis.name] = printer.body();
    names = printer.scope();
  }

  void printGridBounds() {
    for (size_t i = 0; i < plan.grid.axes.size(); ++i) {
      std::vector<std::string> readLater;
      for (size_t later = i; later < plan.grid.axes.size(); ++later) {
        const plan::GridAxis &axis = plan.grid.axes[later];
        if (later > i)
          for (const Stmt &stmt : axis.bounds)
            readLater.insert(readLater.end(), stmt.operands.begin(), stmt.operands.end());
        readLater.insert(readLater.end(), {axis.lo, axis.hi});
      }
      if (!plan.grid.axes[i].bounds.empty())
        printBounds(plan.grid.axes[i], readLater);
    }
  }

  /// A statement that prints nothing and reads the variables.
  static Stmt reading(std::vector<std::string> vars) {
    Stmt stmt;
    stmt.kind = StmtKind::If;
    stmt.operands = std::move(vars);
    return stmt;
  }

  // ---- roles -------------------------------------------------------------------------------------------------------

  cpp::Body variant(const plan::Role &role, bool byGroup, CopyMode mode, bool singleThread) {
    RolePrinter printer(kernel, role, names);
    printer.copyMode = mode;
    printer.singleThread = singleThread;
    if (role.headStart > 0 && singleThread)
      printer.headPart = HeadPart::Rest;
    const int threads = role.warps * role.lanes;
    if (role.instances > 1) {
      const int unit = byGroup ? 4 : 1;
      printer.instance = !role.serial && role.firstWarp == 0 && role.warps == unit
                             ? cpp::name(byGroup ? "warpgroup" : "warp")
                             : cpp::name(role.name);
    }
    const bool whole = plan.roles.size() == 1 && role.instances == 1;
    const cpp::Expr inInstance =
        whole
            ? cpp::name(dialect.thread())
            : (role.lanes == 32 && role.warps == 4 && role.firstWarp % 4 == 0
                   ? cpp::call("tk::thread_in_warpgroup")
                   : cpp::name(fmt::format("({} - {}) % {}", dialect.thread(), role.firstWarp * role.lanes, threads)));
    printer.threadInInstance = cpp::name(role.warps == 1 ? "tk::lane()" : cpp::print(inInstance));
    printer.leader = cpp::name(role.warps == 1 ? "tk::lane() == 0" : cpp::print(inInstance) + " == 0");
    printer.threadInRole = role.processes() == 1 ? inInstance
                           : role.firstWarp == 0
                               ? cpp::name(dialect.thread())
                               : cpp::name(fmt::format("({} - {})", dialect.thread(), role.firstWarp * role.lanes));
    cpp::Body body = printer.setup();
    cpp::Body rest = grid.walk(role, printer);
    body.insert(body.end(), rest.begin(), rest.end());
    rest = printer.finish();
    body.insert(body.end(), rest.begin(), rest.end());
    return body;
  }

  static bool copiesIn(const plan::Role &role) {
    return plan::any(role.body, [](const Stmt &stmt) { return stmt.kind == StmtKind::CopyIn && !stmt.map.empty(); });
  }

  cpp::Stmt resize(const plan::Role &role) const {
    return cpp::Stmt::expression(cpp::call(
        cpp::templated(role.registers > launchRegisters(plan.threads, blocksAtOnce(plan)) ? "tk::claim_registers"
                                                                                          : "tk::release_registers",
                       {cpp::integer(role.registers)})));
  }

  /// Whether other roles have warps in its warpgroup.
  static bool sharesWarpgroup(const plan::Role &role) { return role.firstWarp % 4 != 0 || role.totalWarps() % 4 != 0; }

  /// All warps of a warpgroup execute one and the same setmaxnreg (PTX ISA), before their ways part.
  void resizeSharedWarpgroups(cpp::Body &body) const {
    std::set<int> done;
    for (const plan::Role &role : plan.roles)
      if (role.registers > 0 && sharedOut(plan) == 0 && sharesWarpgroup(role) && done.insert(role.firstWarp / 4).second)
        body.push_back(cpp::Stmt::ifThen(
            cpp::binary("==", cpp::binary("/", cpp::name("warp"), cpp::integer(4)), cpp::integer(role.firstWarp / 4)),
            {resize(role)}));
  }

  cpp::Body printRole(const plan::Role &role, bool byGroup) {
    cpp::Body body;
    if (plan.roles.size() > 1)
      body.push_back(cpp::Stmt::comment(role.name));
    if (role.registers > 0 && sharedOut(plan) == 0 && !sharesWarpgroup(role))
      body.push_back(resize(role));
    if (role.processes() > 1 && !(role.firstWarp == 0 && role.warps == (byGroup ? 4 : 1))) {
      const int unit = byGroup ? 4 : 1;
      const cpp::Expr index =
          cpp::binary("-", cpp::name(byGroup ? "warpgroup" : "warp"), cpp::integer(role.firstWarp / unit));
      body.push_back(
          cpp::Stmt::declaration("const int", role.name, cpp::binary("/", index, cpp::integer(role.warps / unit))));
    }
    cpp::Body rest;
    const CopyMode copyMode = plan.aligned ? CopyMode::Engine : CopyMode::AtRunTime;
    if (copiesIn(role) && plan::runsOnOneThread(role)) {
      const std::vector<std::string> flags = fitFlags(plan);
      const bool vectors = std::find(flags.begin(), flags.end(), "vectors_fit") != flags.end();
      cpp::Body slow = {cpp::Stmt::comment("Tensors that the copy engine cannot take: by the threads of this role.")};
      cpp::Body byThreads = variant(role, byGroup, vectors ? CopyMode::AtRunTime : CopyMode::Threads, false);
      slow.insert(slow.end(), byThreads.begin(), byThreads.end());
      rest = {cpp::Stmt::ifThen(isElectedOf(role), variant(role, byGroup, CopyMode::Engine, true))};
      if (!plan.aligned)
        rest = {cpp::Stmt::ifThen(allFit(), std::move(rest), std::move(slow))};
    } else if (plan::runsOnOneThread(role) && plan.tensorColumns > 0) {
      cpp::Expr executes = cpp::call("tk::elect_one");
      if (role.inFirst)
        executes = cpp::binary("&&", cpp::binary("==", cpp::name("rank"), cpp::integer(0)), executes);
      rest = {cpp::Stmt::ifThen(executes, variant(role, byGroup, copyMode, true))};
    } else {
      rest = variant(role, byGroup, copyMode, false);
    }
    // The tiles of the grid are the same for all roles; declared in each, next to their use.
    if (!plan.grid.ragged)
      for (const plan::GridAxis &axis : plan.grid.axes)
        grid.declareTiles(axis, body);
    body.insert(body.end(), rest.begin(), rest.end());
    return body;
  }

  const plan::Plan &plan;
  const Dialect &dialect = dialectOf(plan.arch);
  std::string name;
  const SourceManager &sources;
  const std::string &onlyIf;
  KernelContext kernel;
  GridPrinter grid{kernel, name};
  cpp::NameScope names;
  std::map<std::string, int> instancesOf;
  std::unique_ptr<plan::Role> prelude;
};

} // namespace

std::string printKernel(const plan::Plan &plan, const std::string &name, const SourceManager &sources,
                        const PrintOptions &options) {
  return KernelPrinter(plan, name, sources, options).run();
}

} // namespace tkc::cuda
