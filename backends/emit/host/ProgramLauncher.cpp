// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/ProgramLauncher.h"

#include "backends/emit/host/HostFunction.h"
#include "backends/emit/kernel/Types.h"

#include <fmt/ranges.h>

namespace tkc::cuda {
namespace {

class ProgramEntry : public HostFunction {
public:
  ProgramEntry(const Signature &signature, const FileNames &names, const SourceManager &sources, const Dialect &dialect,
               const std::string &scope)
      : HostFunction(signature, sources, dialect, names), linkage(scope.empty() ? "extern \"C\" " : ""),
        scope(scope.empty() ? "::" : "::" + scope + "::") {}

  /// The query, which checks and sizes, and the call, which launches as well.
  std::string definition(const std::vector<const ProgramPlan *> &plans) {
    text = fmt::format("{}{} {{\n", linkage, declaration(EntryKind::WorkspaceQuery));
    checkArguments();
    line("if (!{}.ok())\nreturn -1;", callName);
    for (const ProgramPlan *plan : plans) {
      openBranch(plan->specialization);
      sizeWorkspace(*plan);
      line("return {};\n}}", bytesName);
    }
    line("return -1;\n}}\n");
    text += fmt::format("{}{} {{\n", linkage, declaration(EntryKind::Program));
    checkArguments();
    findDevice({}); // its kernels' launchers know better
    for (const ProgramPlan *plan : plans) {
      openBranch(plan->specialization);
      runSteps(*plan);
      line("return {}.status();\n}}", callName);
    }
    endWithoutSpecialization();
    return std::move(text) + "}\n\n";
  }

private:
  /// Symbols and strides of the caller's tensors as 64-bit numbers.
  HostNames namesIn(const ProgramPlan &plan) const {
    HostNames names;
    for (const std::string &symbol : signature.symbols)
      names[symbol] = fmt::format("int64_t({})", identifier(symbol));
    for (const auto &[constant, value] : plan.specialization.constants)
      names[constant] = std::to_string(value);
    for (const ir::Param *param : tensors())
      for (size_t d = 0; d < param->dims.size(); ++d)
        names[strideName(param->name, d)] = fmt::format("{}.stride({})", view(param->name), d);
    return names;
  }

  static std::string product(const std::vector<ir::DimExpr> &dims, const HostNames &names) {
    std::string text = "int64_t(1)";
    for (const ir::DimExpr &dim : dims)
      text += " * " + hostExpr(dim, names);
    return text;
  }

  static std::string list(const std::vector<ir::DimExpr> &dims, const HostNames &names) {
    std::vector<std::string> texts;
    for (const ir::DimExpr &dim : dims)
      texts.push_back(hostExpr(dim, names));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// Where a workspace tensor starts.
  std::string offsetName(const std::string &workspace) {
    const auto [entry, isNew] = offsets.try_emplace(workspace);
    if (isNew)
      entry->second = fresh(identifier(workspace) + "_offset");
    return entry->second;
  }

  /// Declares where each workspace tensor starts, and how many bytes there are in all.
  void sizeWorkspace(const ProgramPlan &plan) {
    const HostNames names = namesIn(plan);
    line("int64_t {} = 0;", bytesName);
    for (const Workspace &workspace : plan.workspaces) {
      line("[[maybe_unused]] const int64_t {} = {};", offsetName(workspace.name), bytesName);
      const int elements = groupElements(workspace.elem), bytes = groupBytes(workspace.elem);
      const std::string size = product(workspace.dims, names) + (elements == 1 ? "" : fmt::format(" / {}", elements)) +
                               (bytes == 1 && elements > 1 ? "" : fmt::format(" * {}", bytes));
      line("{} += ({} + 255) / 256 * 256; // {}", bytesName, size, workspace.name);
    }
  }

  void runSteps(const ProgramPlan &plan) {
    const HostNames names = namesIn(plan);
    for (const ProgramCheck &check : plan.checks)
      line("{}.require({} == {}, \"{} == {}\");", callName, hostExpr(check.lhs, names), hostExpr(check.rhs, names),
           check.lhs.str(), check.rhs.str());
    sizeWorkspace(plan);
    line("tk::host::check_workspace({}, {}, {}, {});", callName, workspaceName, availableName, bytesName);
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    bool followsLaunch = false;
    for (const ProgramStep &step : plan.steps) {
      if (const auto *fill = std::get_if<FillStep>(&step))
        printFill(*fill, names);
      else
        printLaunch(std::get<LaunchStep>(step), names, followsLaunch);
      followsLaunch = std::holds_alternative<LaunchStep>(step);
    }
  }

  std::string dataOf(const TensorView &of) {
    return findParam(of.tensor) ? view(of.tensor) + ".data()"
                                : fmt::format("static_cast<char *>({}) + {}", workspaceName, offsetName(of.tensor));
  }

  /// Nothing is filled of a tensor that was left out.
  void printFill(const FillStep &fill, const HostNames &names) {
    const ir::Param *param = findParam(fill.view.tensor);
    if (param && param->isOptional)
      line("if ({})", view(param->name));
    line("tk::host::fill<{}, {}>({}, {}, {{{}}}, {{{}}}, {}, {}, {});", elementType(fill.view.elem),
         fill.view.dims.size(), callName, dataOf(fill.view), list(fill.view.dims, names),
         list(fill.view.strides, names), hostExpr(fill.view.offset, names),
         fill.value.kind == ScalarExpr::Number ? hostNumber(fill.value.value, ElemType::F64) : hostExpr(fill.value),
         streamName);
  }

  /// A launch right after another may begin before that has ended, where the kernel's plan waits for it.
  void printLaunch(const LaunchStep &launch, const HostNames &names, bool followsLaunch) {
    const Signature &callee = launch.kernel->signature;
    text += "{\n";
    std::string arguments = followsLaunch ? "tk::host::order::overlap_previous" : "tk::host::order::after_all";
    for (const std::string &name : callee.order) {
      arguments += ", ";
      if (auto tensor = launch.tensors.find(name); tensor != launch.tensors.end()) {
        const TensorView &of = tensor->second;
        const std::string argument = argumentName(name);
        line("const tk::host::strided<{}> {}({}, {}, {}, {{{}}}, {{{}}}, {});", of.dims.size(), argument, dataOf(of),
             hostElement(of.elem), deviceName + ".id", list(of.dims, names), list(of.strides, names),
             hostExpr(of.offset, names));
        arguments += fmt::format("&{}.tensor", argument);
      } else if (auto scalar = launch.scalars.find(name); scalar != launch.scalars.end()) {
        arguments += hostExpr(scalar->second);
      } else {
        arguments += constantOf(launch.specialization, name);
      }
    }
    line("const tk_status {} = {}{}({}, {});", launchedName, scope, entryName(callee.name), arguments, streamName);
    line("if ({0}.code != TK_OK)\nreturn {0};\n}}", launchedName);
  }

  /// A const parameter's value; a tensor that was left out is null.
  static std::string constantOf(const Specialization &specialization, const std::string &name) {
    for (const auto &[constant, value] : specialization.constants)
      if (constant == name)
        return std::to_string(value);
    return "nullptr";
  }

  /// The tensor that a launch gets as its parameter `name`.
  std::string argumentName(const std::string &name) {
    const auto [entry, isNew] = launchArguments.try_emplace(name);
    if (isNew)
      entry->second = fresh(identifier(name) + "_argument");
    return entry->second;
  }

  const std::string linkage, scope, launchedName = fresh("launched");
  std::map<std::string, std::string> offsets, launchArguments;
};

} // namespace

std::string printProgramEntries(const Signature &signature, const std::vector<const ProgramPlan *> &plans,
                                const FileNames &names, const SourceManager &sources, const Dialect &dialect,
                                const std::string &scope) {
  ProgramEntry entry(signature, names, sources, dialect, scope);
  std::string text = entry.definition(plans);
  if (scope.empty())
    text += entry.overloadDefinition(EntryKind::Program) + entry.overloadDefinition(EntryKind::WorkspaceQuery);
  return text;
}

} // namespace tkc::cuda
