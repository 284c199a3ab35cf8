// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/WorkspaceEntries.h"

#include "backends/emit/host/Entries.h"
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/Types.h"

#include <fmt/ranges.h>
#include <set>

namespace tkc::cuda {
namespace {

std::set<std::string> loadedByEngine(const std::vector<const planner::PlannedKernel *> &planned) {
  std::set<std::string> tensors;
  for (const planner::PlannedKernel *kernel : planned)
    for (const auto &[map, use] : mapUses(*kernel->plan))
      if (use == MapUse::LoadsTile)
        tensors.insert(kernel->plan->findMap(map)->tensor);
  return tensors;
}

class WorkspaceEntry : public HostFunction {
public:
  WorkspaceEntry(const Signature &signature, std::vector<std::string> copied, const SourceManager &sources,
                 const Dialect &dialect, const FileNames &names)
      : HostFunction(signature, sources, dialect, names), copied(std::move(copied)) {}

  std::string definitions(const Architectures &gpus) {
    text = fmt::format("extern \"C\" {} {{\n", declaration(EntryKind::WorkspaceQuery));
    checkArguments();
    line("return {}.ok() ? {} : -1;\n}}\n", callName, bytes());
    text += fmt::format("extern \"C\" {} {{\n", declaration(EntryKind::WithWorkspace));
    checkArguments();
    findDevice(gpus);
    line("static_cast<void>({});", deviceName);
    line("tk::host::check_workspace({}, {}, {}, {});", callName, workspaceName, availableName, bytes());
    copyOperands();
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    line("return ::{}({}, {});\n}}\n", functionName(EntryKind::Kernel), fmt::join(arguments(), ", "), streamName);
    return std::move(text);
  }

private:
  std::string bytes() const {
    std::vector<std::string> all;
    for (const std::string &tensor : copied)
      all.push_back(fmt::format("tk::host::padded_bytes({})", view(tensor)));
    return fmt::format("{}", fmt::join(all, " + "));
  }

  void copyOperands() {
    const std::string rest = fresh("rest");
    line("char *{} = static_cast<char *>({});", rest, workspaceName);
    for (const std::string &tensor : copied) {
      copies[tensor] = fresh(identifier(tensor) + "_padded");
      line("const tk::host::padded<{}> {}({}, {}, {}, {});", findParam(tensor)->dims.size(), copies[tensor], callName,
           view(tensor), rest, streamName);
    }
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> list;
    for (const std::string &name : signature.order) {
      const auto copy = copies.find(name);
      list.push_back(copy == copies.end() ? identifier(name) : copy->second + ".get()");
    }
    return list;
  }

  const std::vector<std::string> copied;
  std::map<std::string, std::string> copies; ///< by tensor: what stands for it
};

} // namespace

std::vector<std::string> paddedTensors(const Signature &signature,
                                       const std::vector<const planner::PlannedKernel *> &planned) {
  const std::set<std::string> loaded = loadedByEngine(planned);
  std::vector<std::string> names;
  for (const ir::Param &param : signature.params)
    if (param.mode == ir::ParamMode::In && param.dims.size() > 1 && !isPacked(param.elem) && loaded.count(param.name))
      names.push_back(param.name);
  return names;
}

std::string printWorkspaceEntries(const Signature &signature,
                                  const std::vector<const planner::PlannedKernel *> &planned, const Architectures &gpus,
                                  const FileNames &names, const SourceManager &sources, const Dialect &dialect) {
  std::vector<std::string> copied = paddedTensors(signature, planned);
  if (copied.empty())
    return "";
  WorkspaceEntry entry(signature, std::move(copied), sources, dialect, names);
  return entry.definitions(gpus) + entry.overloadDefinition(EntryKind::WithWorkspace) +
         entry.overloadDefinition(EntryKind::WorkspaceQuery);
}

} // namespace tkc::cuda
