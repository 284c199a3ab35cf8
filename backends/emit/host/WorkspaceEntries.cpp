// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/WorkspaceEntries.h"

#include "backends/emit/host/Conditions.h"
#include "backends/emit/host/Entries.h"
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/Types.h"
#include "backends/targets/Description.h"

#include <fmt/ranges.h>
#include <set>

namespace tkc::cuda {
namespace {

std::set<std::string> loadedByEngine(const plan::Plan &plan) {
  std::set<std::string> tensors;
  for (const auto &[map, use] : mapUses(plan))
    if (use == MapUse::LoadsTile)
      tensors.insert(plan.findMap(map)->tensor);
  return tensors;
}

/// What a variable depends on, through what computes it; not through the bounds of loops that go through it.
std::set<std::string> sourcesOf(const plan::Role &role, const std::string &var) {
  std::set<std::string> all{var};
  for (size_t before = 0; before != all.size();) {
    before = all.size();
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == plan::StmtKind::Compute && all.count(stmt.dest))
        all.insert(stmt.operands.begin(), stmt.operands.end());
    });
  }
  return all;
}

/// Axes of the grid that say which part of a tensor a block loads: for each step of the others it is loaded anew.
std::set<std::string> axesOf(const plan::Plan &plan, const std::string &tensor) {
  std::set<std::string> axes;
  for (const plan::Role &role : plan.roles)
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == plan::StmtKind::CopyIn && stmt.view.tensor == tensor)
        for (const std::string &operand : stmt.operands)
          axes.merge(sourcesOf(role, operand));
    });
  return axes;
}

bool mayBeginEarly(const std::vector<const planner::PlannedKernel *> &planned) {
  return std::any_of(planned.begin(), planned.end(),
                     [](const planner::PlannedKernel *kernel) { return waitsForPrevious(*kernel->plan); });
}

class WorkspaceEntry : public HostFunction {
public:
  WorkspaceEntry(const Signature &signature, std::vector<std::string> copied,
                 const std::vector<const planner::PlannedKernel *> &planned, const SourceManager &sources,
                 const Dialect &dialect, const FileNames &names, Conditions &conditions)
      : HostFunction(signature, sources, dialect, names), copied(std::move(copied)), planned(planned),
        conditions(conditions) {
    for (const std::string &tensor : this->copied)
      pays[tensor] = fresh("copies_" + identifier(tensor));
  }

  std::string definitions(const Architectures &gpus) {
    text = fmt::format("extern \"C\" {} {{\n", declaration(EntryKind::WorkspaceQuery));
    checkArguments();
    line("return {}.ok() ? {} : -1;\n}}\n", callName, bytes());
    text += fmt::format("extern \"C\" {} {{\n", declaration(EntryKind::WithWorkspace));
    checkArguments();
    findDevice(gpus);
    askWhatPays(gpus);
    line("tk::host::check_workspace({}, {}, {}, {});", callName, workspaceName, availableName, bytes());
    copyOperands();
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    line("return ::{}({}{}, {});\n}}\n", functionName(EntryKind::Kernel),
         mayBeginEarly(planned) ? copiesName + ".next(), " : "", fmt::join(arguments(), ", "), streamName);
    return std::move(text);
  }

private:
  std::string bytes() const {
    std::vector<std::string> all;
    for (const std::string &tensor : copied)
      all.push_back(fmt::format("tk::host::padded_bytes({})", view(tensor)));
    return fmt::format("{}", fmt::join(all, " + "));
  }

  /// By the plan that would be launched without copies.
  void askWhatPays(const Architectures &gpus) {
    for (const std::string &tensor : copied)
      line("bool {} = true;", pays.at(tensor));
    for (size_t i = 0; i < gpus.size(); ++i) {
      if (gpus.size() > 1)
        line("if ({}.code == {}) {{ // {}", deviceName, i, gpus[i]->name);
      askFor(*gpus[i]);
      text += gpus.size() > 1 ? "}\n" : "";
    }
    line("static_cast<void>({});", deviceName);
  }

  void askFor(const arch::Description &gpu) {
    const double memoryRate = gpu.bandwidthGBs * gpu.rates.memoryShare;
    std::vector<const planner::PlannedKernel *> all = plansFor(gpu, planned);
    std::erase_if(all, [](const planner::PlannedKernel *kernel) { return kernel->plan->aligned; });
    for (size_t i = 0; i < all.size();) {
      text += i == 0 ? "" : "else ";
      const std::vector<const planner::PlannedKernel *> compared = comparedFrom(all, i);
      if (compared.empty()) {
        openBranch(all[i]->specialization, all[i]->terms.conditions, conditions);
        askOf(*all[i]->plan, memoryRate);
      } else {
        askOfCheapest(compared, memoryRate);
      }
      text += "}\n";
      i += std::max<size_t>(compared.size(), 1);
    }
  }

  /// Opens the branch of calls that one of these serves.
  void askOfCheapest(const std::vector<const planner::PlannedKernel *> &compared, double memoryRate) {
    std::vector<Offer> offers;
    bool servesEveryCall = false;
    for (const planner::PlannedKernel *kernel : compared) {
      offers.push_back({offers.size(), &kernel->terms});
      servesEveryCall |= kernel->terms.conditions.empty();
    }
    const Specialization &specialization = compared.front()->specialization;
    const std::string cheapest = cheapestOf(specialization, offers, conditions);
    openBranch(specialization, servesEveryCall ? "" : cheapest + " >= 0");
    line("const int {} = {};", cheapestName, cheapest);
    for (const Offer &offer : offers) {
      line("if ({} == {}) {{", cheapestName, offer.number);
      askOf(*compared[offer.number]->plan, memoryRate);
      text += "}\n";
    }
  }

  void askOf(const plan::Plan &plan, double memoryRate) {
    const std::set<std::string> loaded = loadedByEngine(plan);
    for (const std::string &tensor : copied) {
      std::string times = "1.0", blocks = fmt::format("{}.0", plan.cluster);
      const std::set<std::string> own = axesOf(plan, tensor);
      for (const plan::GridAxis &axis : plan.grid.axes) {
        blocks += " * " + stepsOf(plan, axis, plan.blocksAlong(axis.name));
        times += own.count(axis.name) ? "" : " * " + stepsOf(plan, axis, 1);
      }
      if (!loaded.count(tensor))
        line("{} = false;", pays.at(tensor));
      else if (!plan.grid.ragged)
        line("{} = tk::host::copy_pays({}, {}, {}, {:.0f}, {});", pays.at(tensor), view(tensor), times, blocks,
             memoryRate, deviceName);
    }
  }

  /// How many steps of so many tiles an axis has.
  std::string stepsOf(const plan::Plan &plan, const plan::GridAxis &axis, int64_t tiles) const {
    HostNames constants;
    for (const auto &[constant, value] : plan.constants)
      constants[constant] = std::to_string(value);
    return fmt::format("tk::host::steps({}, {}, {})", hostExpr(plan, axis.lo, constants),
                       hostExpr(plan, axis.hi, constants), std::max<int64_t>(axis.tileSize, 1) * tiles);
  }

  /// In one launch.
  void copyOperands() {
    size_t rank = 0;
    for (const std::string &tensor : copied)
      rank = std::max(rank, findParam(tensor)->dims.size());
    line("tk::host::padded_copies<{}, {}> {}({}, {});", copied.size(), rank, copiesName, callName, workspaceName);
    for (const std::string &tensor : copied) {
      copies[tensor] = fresh(identifier(tensor) + "_padded");
      line("const tk_tensor *const {} = {}.add({}, {});", copies[tensor], copiesName, view(tensor), pays.at(tensor));
    }
    line("{}.launch({});", copiesName, streamName);
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> list;
    for (const std::string &name : signature.order) {
      const auto copy = copies.find(name);
      list.push_back(copy == copies.end() ? identifier(name) : copy->second);
    }
    return list;
  }

  const std::string copiesName = fresh("copies"), cheapestName = fresh("cheapest");
  const std::vector<std::string> copied;
  const std::vector<const planner::PlannedKernel *> &planned;
  Conditions &conditions;
  std::map<std::string, std::string> copies, pays; ///< by tensor: what stands for it; the variable that says whether
};

} // namespace

std::vector<std::string> paddedTensors(const Signature &signature,
                                       const std::vector<const planner::PlannedKernel *> &planned) {
  std::set<std::string> loaded;
  for (const planner::PlannedKernel *kernel : planned)
    loaded.merge(loadedByEngine(*kernel->plan));
  std::vector<std::string> names;
  for (const ir::Param &param : signature.params)
    if (param.mode == ir::ParamMode::In && param.dims.size() > 1 && !isPacked(param.elem) && loaded.count(param.name))
      names.push_back(param.name);
  return names;
}

bool followsCopies(const Signature &signature, const std::vector<const planner::PlannedKernel *> &planned) {
  return mayBeginEarly(planned) && !paddedTensors(signature, planned).empty();
}

std::string printWorkspaceEntries(const Signature &signature,
                                  const std::vector<const planner::PlannedKernel *> &planned, const Architectures &gpus,
                                  const FileNames &names, const SourceManager &sources, const Dialect &dialect,
                                  Conditions &conditions) {
  std::vector<std::string> copied = paddedTensors(signature, planned);
  if (copied.empty())
    return "";
  WorkspaceEntry entry(signature, std::move(copied), planned, sources, dialect, names, conditions);
  return entry.definitions(gpus) + entry.overloadDefinition(EntryKind::WithWorkspace) +
         entry.overloadDefinition(EntryKind::WorkspaceQuery);
}

} // namespace tkc::cuda
