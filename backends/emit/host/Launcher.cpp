// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/Launcher.h"

#include "backends/cpp/Cpp.h"
#include "backends/emit/Names.h"
#include "backends/emit/host/Conditions.h"
#include "backends/emit/host/Entries.h"
#include "backends/emit/host/HostFunction.h"
#include "backends/emit/host/ProgramLauncher.h"
#include "backends/emit/host/WorkspaceEntries.h"
#include "backends/emit/kernel/GridDivisors.h"
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/Types.h"
#include "backends/targets/Dialect.h"
#include "ir/plan/Columns.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace tkc::cuda {
namespace {

/// Entries of one kernel, over all its plans, in a file for these GPUs.
class KernelEntry : public HostFunction {
public:
  KernelEntry(const Signature &signature, std::vector<const planner::PlannedKernel *> planned,
              const Architectures &gpus, const FileNames &names, const SourceManager &sources, const Dialect &dialect,
              Conditions &conditions)
      : HostFunction(signature, sources, dialect, names), planned(std::move(planned)), gpus(gpus),
        conditions(conditions), cheapestName(fresh("cheapest")) {}

  /// The function that does the work. What programs launch, or what may follow copies to workspace, is told what stands
  /// before it, and is called by the C function; else it is the C function itself, or a plain one in the namespace
  /// `scope`.
  std::string definition(bool isLaunched, const std::string &scope) {
    std::string head = declaration(EntryKind::Kernel);
    if (isLaunched)
      head.insert(head.find('(') + 1, "tk::host::order " + orderName + ", ");
    text = (isLaunched ? "static " : !scope.empty() ? "" : "extern \"C\" ") + head + " {\n";
    checkArguments();
    findDevice(gpus);
    for (size_t i = 0; i < gpus.size(); ++i)
      dispatchFor(i, isLaunched);
    endWithoutSpecialization();
    text += "}\n\n";
    if (isLaunched)
      text += callOfOrdered(scope);
    return std::move(text);
  }

private:
  /// The function of callers, which launches after everything that is on the stream. In a namespace its name says so:
  /// by the tensors' type a function of the same name outside would be found too.
  std::string callOfOrdered(const std::string &scope) const {
    std::string arguments = "tk::host::order::after_all";
    for (const std::string &name : signature.order)
      arguments += ", " + identifier(name);
    return fmt::format(
        "{}{} {{\nreturn {}{}({}, {});\n}}\n\n", scope.empty() ? "extern \"C\" " : "", declaration(EntryKind::Kernel),
        scope.empty() ? (hidesItself() ? "::" : "") : "::" + scope + "::", functionName(EntryKind::Kernel), arguments,
        streamName);
  }

  /// The plans for one GPU, the `index`th of the file's.
  void dispatchFor(size_t index, bool isLaunched) {
    const arch::Description &gpu = *gpus[index];
    const bool isOneOfSeveral = gpus.size() > 1;
    if (isOneOfSeveral)
      line("if ({}.code == {}) {{ // {}", deviceName, index, gpu.name);
    const std::string scope = isOneOfSeveral ? namespaceOf(gpu, names.entries) + "::" : "";
    const std::vector<const planner::PlannedKernel *> all = plansFor(gpu, planned);
    for (size_t i = 0; i < all.size();) {
      const std::vector<const planner::PlannedKernel *> compared = comparedFrom(all, i);
      if (compared.empty()) {
        openBranch(all[i]->specialization, all[i]->terms.conditions, conditions);
        launch(*all[i], scope, isLaunched);
        text += "}\n";
      } else {
        dispatchCheapest(compared, scope, isLaunched);
      }
      i += std::max<size_t>(compared.size(), 1);
    }
    if (isOneOfSeveral)
      text += "}\n";
  }

  /// Those with the word `aligned` first: where the cheapest turns out not to suit the call, the others are compared.
  void dispatchCheapest(const std::vector<const planner::PlannedKernel *> &compared, const std::string &scope,
                        bool isLaunched) {
    const Specialization &specialization = compared.front()->specialization;
    std::vector<Offer> all, unaligned;
    for (size_t i = 0; i < compared.size(); ++i) {
      all.push_back({i, &compared[i]->terms});
      if (!compared[i]->plan->aligned)
        unaligned.push_back(all.back());
    }
    openBranch(specialization);
    const bool comparesAgain = !unaligned.empty() && unaligned.size() < all.size();
    line("{}int {} = {};", comparesAgain ? "" : "const ", cheapestName, cheapestOf(specialization, all, conditions));
    for (const bool isAligned : {true, false})
      for (const Offer &offer : all) {
        const planner::PlannedKernel &kernel = *compared[offer.number];
        if (kernel.plan->aligned != isAligned)
          continue;
        line("if ({} == {}) {{", cheapestName, offer.number);
        launch(kernel, scope, isLaunched);
        if (isAligned && comparesAgain)
          line("{} = {};", cheapestName, cheapestOf(specialization, unaligned, conditions));
        text += "}\n";
      }
    text += "}\n";
  }

  /// Launches a kernel and returns, if it suits the call.
  void launch(const planner::PlannedKernel &kernel, const std::string &scope, bool isLaunched) {
    const plan::Plan &plan = *kernel.plan;
    const std::string name = scope + names.kernels.at(&plan);
    line("{} {}{{}};", argumentsOf(name), argumentsName);
    const MemberNames members(plan, names.kernels.at(&plan));
    fillArguments(plan, members);
    if (plan.aligned)
      line("if ({}) {{", fits(plan, members));
    const std::string isResident = residency(plan);
    if (plan.grid.counted)
      line("{}.tk_claims = tk::host::tile_claims_of({}, {});", argumentsName, streamName, order(plan));
    if (isInstrumented(plan))
      line("{}.tk_trace = tk::host::trace_of({{{}, {}, {}, {}.multiprocessors, {}, {:#x}}});", argumentsName,
           cpp::print(cpp::string(name)), blocks(plan), isResident, deviceName, plan.threads / plan.roles[0].lanes,
           leaders(plan));
    const bool overlaps = isLaunched && waitsForPrevious(plan);
    line("tk::host::launch({}, {}, {}, {}, {}, {}, {}, {}, {}{}{});", callName, deviceName, name, argumentsName,
         blocks(plan), isResident, plan.threads,
         (plan.buffers.empty() && plan.barriers.empty()) || dialect.hasStaticShared
             ? "0"
             : fmt::format("int(sizeof({})) + 1024", sharedOf(name)),
         streamName,
         overlaps           ? ", " + orderName
         : plan.cluster > 1 ? ", tk::host::order::after_all"
                            : "",
         plan.cluster > 1 ? fmt::format(", {}", plan.cluster) : "");
    line("return {}.status();{}", callName, plan.aligned ? "\n}" : "");
  }

  /// Whether as many blocks are launched as run at once, each of which takes tile after tile. Where there is no
  /// counter, and no order in which blocks end together, a block a tile is faster: what becomes free takes the next,
  /// whatever its length.
  std::string residency(const plan::Plan &plan) const {
    if (plan.grid.counted && plan.grid.uncounted == plan::Uncounted::Apart)
      return fmt::format("!{}.tk_claims.in_order()", argumentsName);
    return plan.grid.ragged || (plan.grid.persistent && (!plan.grid.dynamic || plan.grid.counted)) ? "true" : "false";
  }

  /// The tk::tile_order of a launch without a counter.
  std::string order(const plan::Plan &plan) const {
    if (plan.grid.uncounted != plan::Uncounted::Pairs)
      return fmt::format("{{int({})}}", blocks(plan));
    const size_t last = plan.grid.axes.size() - 1;
    return fmt::format("{{int({}), int({}), {}}}", steps(plan, last, last + 1), steps(plan, 0, last),
                       plan.grid.rasterGroup);
  }

  /// Bit w: warp w is the first of an instance of a role.
  static uint32_t leaders(const plan::Plan &plan) {
    uint32_t bits = 0;
    for (const plan::Role &role : plan.roles)
      for (int instance = 0; instance < role.processes(); ++instance)
        bits |= uint32_t{1} << (role.firstWarp + instance * role.warps);
    return bits;
  }

  void fillArguments(const plan::Plan &plan, const MemberNames &members) {
    for (const ir::Param &param : plan.params) {
      const std::string &id = members.argument(param.name);
      if (!param.isTensor)
        line("{}.{} = {};", argumentsName, id, identifier(param.name));
      else if (param.isPresent && !param.isLocal)
        line("{}.{} = tk::host::make_global<{}{}, {}>({});", argumentsName, id,
             param.mode == ir::ParamMode::In ? "const " : "", elementType(param.elem), param.dims.size(),
             view(param.name));
    }
    for (const std::string &symbol : runtimeSymbols(plan))
      line("{}.{} = {};", argumentsName, members.argument(symbol), identifier(symbol));
    chooseColumns(plan, members);
    for (const GridDivisor &divisor : gridDivisors(plan))
      line("{}.{} = {}({}{});", argumentsName, members.divisor(divisor.key), typeOf(divisor, plan.grid),
           steps(plan, divisor.first, divisor.end),
           divisor.key == rasterKey ? ", " + steps(plan, divisor.end, divisor.end + 1) : "");
    for (const Reach &reach : reaches(plan))
      line("tk::host::check_reach({}, {}, {}, {});", callName, view(reach.tensor), reach.dim, reach.extent);
    if (plan.aligned)
      return;
    std::vector<std::string> tiles, vectors;
    for (const auto &[map, use] : mapUses(plan)) {
      const std::string encoded = encode(plan, *plan.findMap(map), members, use == MapUse::Stores);
      const std::string fits = fmt::format("{}.{}", argumentsName, members.fits(map));
      const bool isAskedItself = use == MapUse::Stores || (use == MapUse::LoadsTile && asksEachLoad(plan));
      if (isAskedItself)
        line("{} = {};", fits, encoded);
      if (use != MapUse::Stores)
        (use == MapUse::LoadsTile ? tiles : vectors).push_back(isAskedItself ? fits : encoded);
    }
    for (const std::string &flag : fitFlags(plan))
      line("{}.{} = {};", argumentsName, members.flag(flag), fmt::join(flag == "loads_fit" ? tiles : vectors, " &&\n"));
  }

  /// Where they are chosen at launch: as many as let the most tiles run in the fewest rounds.
  void chooseColumns(const plan::Plan &plan, const MemberNames &members) {
    const plan::GridAxis *axis = plan.steppedAxis();
    columns = axis ? fmt::format("{}.{}", argumentsName, members.columns()) : "";
    if (!axis)
      return;
    const auto at = static_cast<size_t>(axis - plan.grid.axes.data());
    HostNames names = constantsOf(plan);
    const std::string before = steps(plan, 0, at), after = steps(plan, at + 1, plan.grid.axes.size());
    const std::string others = before == "1" ? after : after == "1" ? before : before + " * " + after;
    line("{} = tk::host::columns_of({}, {{{}, {}, {}}}, {}, tk::host::clusters_at_once({}.multiprocessors, {}));",
         columns, hostExpr(plan, axis->hi, names), axis->tileSize, columnStep(plan, *axis),
         plan.blocksAlong(axis->name), others, deviceName, plan.cluster);
  }

  /// Where columns are contiguous in an operand, tiles begin where the engine's lines do, as its rows do.
  std::string columnStep(const plan::Plan &plan, const plan::GridAxis &axis) const {
    std::string step = std::to_string(axis.step);
    for (const std::string &tensor : tensorsWithColumns(plan, axis))
      step = fmt::format("tk::host::column_step({}, {}, {})", view(tensor), step, axis.tileSize);
    return step;
  }

  /// Those that the engine loads by tiles of the axis along their rows.
  static std::set<std::string> tensorsWithColumns(const plan::Plan &plan, const plan::GridAxis &axis) {
    std::set<std::string> tensors;
    for (const plan::Role &role : plan.roles)
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        if (stmt.kind != plan::StmtKind::CopyIn || stmt.map.empty() || plan.findMap(stmt.map)->rowDim < 0)
          return;
        const ir::ViewIndex &last = stmt.view.indices.back();
        if (last.kind == ir::ViewIndex::Tiled && stmt.operands[last.operand] == axis.name)
          tensors.insert(stmt.view.tensor);
      });
    return tensors;
  }

  static HostNames constantsOf(const plan::Plan &plan) {
    HostNames names;
    for (const auto &[constant, value] : plan.constants)
      names[constant] = std::to_string(value);
    return names;
  }

  /// Whether the copy engine can take every tensor that it is to; their maps are ready then.
  std::string fits(const plan::Plan &plan, const MemberNames &members) const {
    std::vector<std::string> all;
    for (const auto &[map, use] : mapUses(plan))
      all.push_back(encode(plan, *plan.findMap(map), members, use == MapUse::Stores));
    return fmt::format("{}", fmt::join(all, " &&\n"));
  }

  std::string encode(const plan::Plan &plan, const plan::TensorMap &map, const MemberNames &members,
                     bool stored) const {
    return fmt::format("tk::host::encode_{}map({}.{}, {}, {{{}, {}, {}, {}, {}{}}}{})",
                       map.tiledBy.empty() ? "" : "columns_", argumentsName, members.map(map.name), view(map.tensor),
                       map.rowDim, rowsOf(plan, map), map.boxCols, plan::bytes(map.swizzle), stored ? "true" : "false",
                       map.fetched == plan::TensorMap().fetched ? "" : fmt::format(", {}", map.fetched),
                       map.tiledBy.empty() ? "" : ", " + columns);
  }

  /// Of a box: where it has a row for each column of a tile, as many as the launcher chose.
  std::string rowsOf(const plan::Plan &plan, const plan::TensorMap &map) const {
    std::string rows = std::to_string(map.boxRows);
    for (const plan::Role &role : plan.roles)
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        if (stmt.map == map.name && plan::loadsColumnsAsRows(plan, stmt))
          rows = fmt::format("{}.share({})", columns, plan::blocksThatShareRows(plan, stmt));
      });
    return rows;
  }

  std::string blocks(const plan::Plan &plan) const {
    if (plan.grid.ragged)
      return "INT32_MAX";
    const std::string product = steps(plan, 0, plan.grid.axes.size());
    return plan.cluster > 1 ? fmt::format("{} * {}", product, plan.cluster) : product;
  }

  /// How many steps the axes of the grid from `first` up to `end` have together, of a whole cluster each.
  std::string steps(const plan::Plan &plan, size_t first, size_t end) const {
    const HostNames names = constantsOf(plan);
    std::string product;
    for (size_t i = first; i < end; ++i) {
      const plan::GridAxis &axis = plan.grid.axes[i];
      if (axis.step > 0) {
        const int blocks = plan.blocksAlong(axis.name);
        product += (product.empty() ? "" : " * ") +
                   (blocks == 1 ? fmt::format("{}.count", columns)
                                : fmt::format("tk::host::steps(0, {}.count, {})", columns, blocks));
        continue;
      }
      product += fmt::format("{}tk::host::steps({}, {}, {})", product.empty() ? "" : " * ",
                             hostExpr(plan, axis.lo, names), hostExpr(plan, axis.hi, names),
                             std::max<int64_t>(axis.tileSize, 1) * plan.blocksAlong(axis.name));
    }
    return product.empty() ? "1" : product;
  }

  std::vector<const planner::PlannedKernel *> planned;
  const Architectures &gpus;
  Conditions &conditions;
  const std::string cheapestName;
  const std::string orderName = fresh("order");
  std::string columns; ///< of the plan at hand: what the launcher chose; empty: it chooses none
};

bool isLaunched(const KernelInfo &kernel, const std::vector<std::unique_ptr<ProgramPlan>> &programs) {
  for (const auto &program : programs)
    for (const ProgramStep &step : program->steps)
      if (const auto *launch = std::get_if<LaunchStep>(&step); launch && launch->kernel == &kernel)
        return true;
  return false;
}

std::set<std::string> namesOutside(const FileNames &names) {
  std::set<std::string> all = names.entries;
  for (const auto &[plan, kernel] : names.kernels)
    all.insert(kernel);
  return all;
}

std::string commentLines(const std::string &doc) {
  std::string text;
  for (size_t at = 0; at < doc.size();) {
    const size_t end = std::min(doc.find('\n', at), doc.size());
    text += "/// " + doc.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

} // namespace

std::string printLaunchers(const std::vector<planner::PlannedKernel> &kernels,
                           const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources,
                           const std::string &scope) {
  const Architectures gpus = architecturesOf(kernels);
  const FileNames names{kernelNames(kernels), entriesOf(kernels, programs)};
  const Dialect &dialect = dialectOfAll(kernels);
  Conditions conditions(namesOutside(names));
  std::string text;
  forEachKernel(kernels, [&](const KernelInfo &kernel, std::vector<const planner::PlannedKernel *> planned) {
    KernelEntry entry(kernel.signature, planned, gpus, names, sources, dialect, conditions);
    text += entry.definition(
        isLaunched(kernel, programs) || (scope.empty() && followsCopies(kernel.signature, planned)), scope);
    if (scope.empty())
      text += entry.overloadDefinition(EntryKind::Kernel) +
              printWorkspaceEntries(kernel.signature, planned, gpus, names, sources, dialect, conditions);
  });
  forEachProgram(programs, [&](const Signature &signature, const std::vector<const ProgramPlan *> &plans) {
    text += printProgramEntries(signature, plans, names, sources, dialect, scope);
  });
  return conditions.definitions() + text;
}

std::string printHeader(const std::vector<planner::PlannedKernel> &kernels,
                        const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources) {
  const Dialect &dialect = dialectOfAll(kernels);
  const FileNames names{kernelNames(kernels), entriesOf(kernels, programs)};
  std::string forC, forCpp;
  const auto declare = [&](const HostFunction &function, EntryKind kind) {
    forC += function.declaration(kind) + ";\n";
    forCpp += function.overload(kind, /*withDefaults=*/true) + ";\n";
  };
  forEachKernel(kernels, [&](const KernelInfo &kernel, const std::vector<const planner::PlannedKernel *> &planned) {
    const HostFunction function(kernel.signature, sources, dialect, names);
    forC += commentLines(kernel.signature.doc);
    declare(function, EntryKind::Kernel);
    if (!paddedTensors(kernel.signature, planned).empty()) {
      forC +=
          "/// The same. Operands whose rows begin at no multiple of 16 bytes are copied to the workspace first, where "
          "that pays.\n";
      declare(function, EntryKind::WithWorkspace);
      forC +=
          "/// Bytes of workspace that such a call needs, 0 where nothing can be copied; -1 where arguments are not "
          "right.\n";
      declare(function, EntryKind::WorkspaceQuery);
    }
    forC += "\n";
  });
  forEachProgram(programs, [&](const Signature &signature, const std::vector<const ProgramPlan *> &) {
    const HostFunction function(signature, sources, dialect, names);
    forC += commentLines(signature.doc);
    declare(function, EntryKind::Program);
    forC += "/// Bytes of workspace that a call with these arguments needs; -1 where they are not right.\n";
    declare(function, EntryKind::WorkspaceQuery);
    forC += "\n";
  });
  return "#pragma once\n\n#include \"tk/host/tensor.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + forC +
         "#ifdef __cplusplus\n} // extern \"C\"\n\n// The same for C++.\n" + forCpp + "#endif\n";
}

} // namespace tkc::cuda
