// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cuda/Launcher.h"

#include "backends/cuda/HostExpr.h"
#include "backends/cuda/KernelPrinter.h"
#include "backends/cuda/Types.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <set>

namespace tkc::cuda {
namespace {

std::string hostType(ElemType elem) {
  switch (elem) {
  case ElemType::F64:
    return "double";
  case ElemType::I32:
  case ElemType::I8:
  case ElemType::U8:
    return "int32_t";
  case ElemType::I64:
    return "int64_t";
  case ElemType::Bool:
    return "int";
  case ElemType::F32:
  case ElemType::TF32:
  case ElemType::F16:
  case ElemType::BF16:
  case ElemType::F8E4M3:
  case ElemType::F8E5M2:
    return "float";
  }
  return "";
}

/// How callers name the element type; tf32 is stored as f32.
std::string elementName(ElemType elem) {
  if (elem == ElemType::TF32)
    return "tk::host::element::f32";
  return fmt::format("tk::host::element::{}", elem == ElemType::Bool ? "boolean" : spelling(elem));
}

class Launcher {
public:
  Launcher(const Signature &signature, std::vector<const planner::PlannedKernel *> planned,
           const SourceManager &sources)
      : signature(signature), planned(std::move(planned)), sources(sources), callName(fresh("call")),
        deviceName(fresh("device")), argumentsName(fresh("arguments")), streamName(fresh("stream")),
        bytesName(fresh("bytes")) {}

  std::string declaration() const {
    std::vector<std::string> parameters;
    for (const std::string &name : signature.order)
      parameters.push_back(parameter(name));
    parameters.push_back("struct CUstream_st *" + streamName);
    return fmt::format("tk_status {}({})", identifier(signature.name), fmt::join(parameters, ", "));
  }

  /// The same for a program, with the workspace it may use.
  std::string programDeclaration() const {
    std::vector<std::string> parameters;
    for (const std::string &name : signature.order)
      parameters.push_back(parameter(name));
    parameters.insert(parameters.end(), {"void *" + fresh("workspace"), "int64_t " + fresh("workspace_bytes"),
                                         "struct CUstream_st *" + streamName});
    return fmt::format("tk_status {}({})", identifier(signature.name), fmt::join(parameters, ", "));
  }
  /// Bytes of workspace that a call with these arguments needs; -1 where they are not right.
  std::string queryDeclaration() const {
    std::vector<std::string> parameters;
    for (const std::string &name : signature.order)
      parameters.push_back(parameter(name));
    return fmt::format("int64_t {}_workspace_bytes({})", identifier(signature.name), fmt::join(parameters, ", "));
  }

  /// A program: the query, which checks and sizes, and the call, which launches as well.
  std::string programDefinition(const std::vector<const ProgramPlan *> &plans) {
    text = fmt::format("extern \"C\" {} {{\n", queryDeclaration());
    checkArguments();
    line("if (!{}.ok())\nreturn -1;", callName);
    for (const ProgramPlan *plan : plans) {
      openBranch(plan->specialization);
      sizeWorkspace(*plan);
      line("return {};\n}}", bytesName);
    }
    line("return -1;\n}}\n");
    boundTypes.clear();
    text += fmt::format("extern \"C\" {} {{\n", programDeclaration());
    checkArguments();
    line("const tk::host::device {} = tk::host::find_device({}, 9, 0{});", deviceName, callName, listOfTensors());
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    for (const ProgramPlan *plan : plans) {
      openBranch(plan->specialization);
      runSteps(*plan);
      line("return {}.status();\n}}", callName);
    }
    line("{}.fail(TK_NOT_COMPILED, \"no specialisation in this file serves these arguments\");", callName);
    line("return {}.status();", callName);
    return text + "}\n\n";
  }

  std::string definition() {
    text = fmt::format("extern \"C\" {} {{\n", declaration());
    checkArguments();
    line("const tk::host::device {} = tk::host::find_device({}, 9, 0{});", deviceName, callName, listOfTensors());
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    for (const planner::PlannedKernel *kernel : planned)
      dispatch(*kernel);
    line("{}.fail(TK_NOT_COMPILED, \"no specialisation in this file serves these arguments\");", callName);
    line("return {}.status();", callName);
    return text + "}\n\n";
  }

private:
  template <class... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    text += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  /// A local name that no parameter or symbol has.
  std::string fresh(std::string name) const {
    const auto isTaken = [&](const std::string &other) { return identifier(other) == name; };
    while (std::any_of(signature.order.begin(), signature.order.end(), isTaken) ||
           std::any_of(signature.symbols.begin(), signature.symbols.end(), isTaken))
      name += '_';
    return name;
  }

  const ir::Param *findParam(const std::string &name) const {
    auto found = std::find_if(signature.params.begin(), signature.params.end(),
                              [&](const ir::Param &param) { return param.name == name; });
    return found == signature.params.end() ? nullptr : &*found;
  }

  std::string parameter(const std::string &name) const {
    const ir::Param *param = findParam(name);
    if (!param) { // a const
      return fmt::format("int {}", identifier(name));
    }
    if (param->isTensor)
      return fmt::format("const tk_tensor *{}", identifier(name));
    return fmt::format("{} {}", hostType(param->elem), identifier(name));
  }

  static std::string view(const std::string &name) { return identifier(name) + "_view"; }

  std::vector<const ir::Param *> tensors() const {
    std::vector<const ir::Param *> list;
    for (const ir::Param &param : signature.params)
      if (param.isTensor)
        list.push_back(&param);
    return list;
  }

  std::string listOfTensors() const {
    std::string list;
    for (const ir::Param *param : tensors())
      list += ", " + view(param->name);
    return list;
  }

  void checkArguments() {
    line("tk::host::call {}(\"{}\");", callName, signature.name);
    takeTensors();
    bindTypes();
    bindSymbols();
    checkDims();
    checkConditions();
    checkOverlap();
  }

  void takeTensors() {
    for (const ir::Param *param : tensors())
      line("const tk::host::argument {} = {}.tensor(\"{}\", {}, {}{});", view(param->name), callName, param->name,
           identifier(param->name), param->dims.size(), param->isOptional ? ", true" : "");
  }

  void bindTypes() {
    for (const ir::Param *param : tensors()) {
      auto typeParam = signature.typeParamOf.find(param->name);
      if (typeParam == signature.typeParamOf.end()) {
        line("{}.same_type({}, {}, \"\");", callName, view(param->name), elementName(param->elem));
        continue;
      }
      const std::string &name = typeParam->second;
      if (boundTypes.insert(name).second) {
        line("const tk::host::element {} = {}.type;", identifier(name), view(param->name));
        if (!param->isOptional)
          requireChoice(name);
      } else
        line("{}.same_type({}, {}, \", as the other tensors of type `{}`\");", callName, view(param->name),
             identifier(name), name);
    }
  }

  void requireChoice(const std::string &name) {
    for (const auto &[param, choices] : signature.typeParams) {
      if (param != name)
        continue;
      std::vector<std::string> tests, spellings;
      for (ElemType elem : choices) {
        tests.push_back(fmt::format("{} == {}", identifier(name), elementName(elem)));
        spellings.emplace_back(spelling(elem));
      }
      line("{}.require({}, \"{} in {{{}}}\");", callName, fmt::join(tests, " || "), name, fmt::join(spellings, ", "));
    }
  }

  // ---- symbols -----------------------------------------------------------------------------------------------------

  /// `symbol`, or `symbol` plus or minus a number: what can bind it. Sets `offset`.
  static bool binds(const ir::DimExpr &dim, const std::string &symbol, int64_t &offset) {
    offset = 0;
    if (dim.kind == ir::DimExpr::Symbol)
      return dim.symbol == symbol;
    const bool sum = dim.kind == ir::DimExpr::Add || dim.kind == ir::DimExpr::Sub;
    if (!sum || dim.lhs->kind != ir::DimExpr::Symbol || dim.rhs->kind != ir::DimExpr::Const)
      return false;
    offset = dim.kind == ir::DimExpr::Add ? dim.rhs->value : -dim.rhs->value;
    return dim.lhs->symbol == symbol;
  }

  void bindSymbols() {
    for (const std::string &symbol : signature.symbols) {
      std::string value;
      for (bool optional : {false, true})
        for (const ir::Param *param : tensors())
          for (size_t i = 0; i < param->dims.size(); ++i) {
            int64_t offset = 0;
            if (param->isOptional != optional || !binds(param->dims[i], symbol, offset))
              continue;
            const std::string bind = fmt::format("{}.bind({}, {}, {})", callName, view(param->name), i, offset);
            if (!optional && value.empty())
              value = bind;
            else if (optional && (value.empty() || value.find('?') != std::string::npos))
              value = (value.empty() ? "" : value.substr(0, value.rfind('0'))) +
                      fmt::format("{} ? {} : 0", view(param->name), bind);
          }
      if (value.empty() && isConst(symbol)) // a const parameter stands in the dims
        continue;
      line("const int {} = {};", identifier(symbol), value.empty() ? "0" : value);
    }
  }

  bool isConst(const std::string &name) const {
    return std::any_of(signature.consts.begin(), signature.consts.end(),
                       [&](const ConstParam &c) { return c.name == name; });
  }

  void checkDims() {
    for (const ir::Param *param : tensors())
      for (size_t i = 0; i < param->dims.size(); ++i)
        line("{}.dim({}, {}, {}, \"{}\");", callName, view(param->name), i, hostExpr(param->dims[i], {}),
             param->dims[i].str());
    for (const auto &[symbol, choices] : signature.dimChoices) {
      std::vector<std::string> tests;
      for (int64_t choice : choices)
        tests.push_back(fmt::format("{} == {}", identifier(symbol), choice));
      line("{}.require({}, \"{} in {{{}}}\");", callName, fmt::join(tests, " || "), symbol, fmt::join(choices, ", "));
    }
  }

  void checkConditions() {
    for (const ast::Expr *condition : signature.conditions)
      line("{}.require({}, \"{}\");", callName, hostExpr(*condition), std::string(sources.text(condition->range)));
  }

  void checkOverlap() {
    const std::vector<const ir::Param *> list = tensors();
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = 0; j < list.size(); ++j)
        if (i != j && list[i]->mode != ir::ParamMode::In && (list[j]->mode == ir::ParamMode::In || i < j))
          line("{}.disjoint({}, {});", callName, view(list[i]->name), view(list[j]->name));
  }

  // ---- one specialisation ------------------------------------------------------------------------------------------

  std::string condition(const Specialization &specialization) const {
    std::vector<std::string> tests;
    for (const auto &[name, elem] : specialization.typeArgs)
      if (boundTypes.count(name))
        tests.push_back(fmt::format("{} == {}", identifier(name), elementName(elem)));
    for (const auto &[name, value] : specialization.constants)
      if (specialization.bools.count(name)) // any C truth value
        tests.push_back((value ? "" : "!") + identifier(name));
      else
        tests.push_back(fmt::format("{} == {}", identifier(name), value));
    for (const ir::Param *param : tensors())
      if (param->isOptional)
        tests.push_back((specialization.absent.count(param->name) ? "!" : "") + view(param->name));
    return tests.empty() ? "" : fmt::format("{}", fmt::join(tests, " && "));
  }

  void openBranch(const Specialization &specialization) {
    const std::string test = condition(specialization);
    text += test.empty() ? "{\n" : fmt::format("if ({}) {{\n", test);
  }

  void dispatch(const planner::PlannedKernel &kernel) {
    const plan::Plan &plan = *kernel.plan;
    const std::string name = kernelName(kernel);
    openBranch(kernel.specialization);
    line("{}_arguments {}{{}};", name, argumentsName);
    fillArguments(plan);
    line("tk::host::launch({}, {}, {}, {}, {}, {}, {}, {}, {}{});", callName, deviceName, name, argumentsName,
         blocks(plan), plan.grid.persistent || plan.grid.ragged ? "true" : "false", plan.threads,
         plan.buffers.empty() && plan.barriers.empty() ? "0" : fmt::format("int(sizeof({}_shared)) + 1024", name),
         streamName, plan.cluster > 1 ? fmt::format(", {}", plan.cluster) : "");
    line("return {}.status();\n}}", callName);
  }

  void fillArguments(const plan::Plan &plan) {
    for (const ir::Param &param : plan.params) {
      const std::string id = identifier(param.name);
      if (!param.isTensor)
        line("{1}.{0} = {0};", id, argumentsName);
      else if (param.isPresent)
        line("{}.{} = tk::host::make_global<{}{}, {}>({});", argumentsName, id,
             param.mode == ir::ParamMode::In ? "const " : "", elementType(param.elem), param.dims.size(),
             view(param.name));
    }
    for (const std::string &symbol : runtimeSymbols(plan))
      line("{1}.{0} = {0};", identifier(symbol), argumentsName);
    std::vector<std::string> loads;
    for (const auto &[map, isLoad] : mapDirections(plan)) {
      const std::string encoded = encode(*plan.findMap(map), !isLoad);
      if (isLoad)
        loads.push_back(encoded);
      else
        line("{}.{}_fits = {};", argumentsName, identifier(map), encoded);
    }
    if (!loads.empty())
      line("{}.loads_fit = {};", argumentsName, fmt::join(loads, " &&\n"));
  }

  std::string encode(const plan::TensorMap &map, bool stored) const {
    return fmt::format("tk::host::encode_map({}.{}, {}, {{{}, {}, {}, {}, {}}})", argumentsName, identifier(map.name),
                       view(map.tensor), map.rowDim, map.boxRows, map.boxCols, plan::bytes(map.swizzle),
                       stored ? "true" : "false");
  }

  std::string blocks(const plan::Plan &plan) const {
    if (plan.grid.ragged)
      return "INT32_MAX";
    HostNames names;
    for (const auto &[constant, value] : plan.constants)
      names[constant] = std::to_string(value);
    std::string product;
    for (const plan::GridAxis &axis : plan.grid.axes)
      product +=
          fmt::format("{}tk::host::steps({}, {}, {})", product.empty() ? "" : " * ", hostExpr(plan, axis.lo, names),
                      hostExpr(plan, axis.hi, names),
                      std::max<int64_t>(axis.tileSize, 1) * (axis.name == plan.grid.clusterAxis ? plan.cluster : 1));
    if (plan.cluster > 1)
      product += fmt::format(" * {}", plan.cluster);
    return product.empty() ? "1" : product;
  }

  // ---- programs ----------------------------------------------------------------------------------------------------

  /// Symbols and strides of the caller's tensors as 64-bit numbers.
  HostNames programNames(const ProgramPlan &plan) const {
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

  static std::string offsetName(const std::string &workspace) { return identifier(workspace) + "_offset"; }

  /// Declares where each workspace tensor starts, and how many bytes there are in all.
  void sizeWorkspace(const ProgramPlan &plan) {
    const HostNames names = programNames(plan);
    line("int64_t {} = 0;", bytesName);
    for (const Workspace &workspace : plan.workspaces) {
      line("[[maybe_unused]] const int64_t {} = {};", offsetName(workspace.name), bytesName);
      line("{} += ({} * {} + 255) / 256 * 256; // {}", bytesName, product(workspace.dims, names),
           byteWidth(workspace.elem), workspace.name);
    }
  }

  void runSteps(const ProgramPlan &plan) {
    const HostNames names = programNames(plan);
    for (const ProgramCheck &check : plan.checks)
      line("{}.require({} == {}, \"{} == {}\");", callName, hostExpr(check.lhs, names), hostExpr(check.rhs, names),
           check.lhs.str(), check.rhs.str());
    sizeWorkspace(plan);
    const std::string workspace = fresh("workspace"), available = fresh("workspace_bytes");
    line("if ({0}.ok() && ({1} < {2} || ({2} > 0 && !{3})))\n{0}.fail(TK_BAD_ARGUMENT, \"a workspace of %lld bytes is "
         "needed, "
         "this has %lld\", (long long){2}, (long long){1});",
         callName, available, bytesName, workspace);
    line("if ({0}.ok() && reinterpret_cast<uintptr_t>({1}) % 256 != 0)\n{0}.fail(TK_BAD_ARGUMENT, \"the workspace is "
         "not "
         "aligned to 256 bytes\");",
         callName, workspace);
    line("if (!{0}.ok())\nreturn {0}.status();", callName);
    for (const ProgramStep &step : plan.steps)
      if (const auto *fill = std::get_if<FillStep>(&step))
        printFill(*fill, names);
      else
        printLaunch(std::get<LaunchStep>(step), names);
  }

  /// All bytes zero, which is 0 in every type (supportsFills refuses other values and other places).
  void printFill(const FillStep &fill, const HostNames &names) {
    line("tk::host::zero({}, static_cast<char *>({}) + {}, {} * {}, {});", callName, fresh("workspace"),
         offsetName(fill.view.tensor), product(fill.view.dims, names), byteWidth(fill.view.elem), streamName);
  }

  static std::string list(const std::vector<ir::DimExpr> &dims, const HostNames &names) {
    std::vector<std::string> texts;
    for (const ir::DimExpr &dim : dims)
      texts.push_back(hostExpr(dim, names));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  void printLaunch(const LaunchStep &launch, const HostNames &names) {
    const Signature &callee = launch.kernel->signature;
    text += "{\n";
    std::vector<std::string> arguments;
    for (const std::string &name : callee.order) {
      if (auto tensor = launch.tensors.find(name); tensor != launch.tensors.end()) {
        const TensorView &view = tensor->second;
        const bool isParam = findParam(view.tensor) != nullptr;
        line("const tk::host::strided<{}> {}_argument({}, tk::host::element::{}, {}, {{{}}}, {{{}}}, {});",
             view.dims.size(), identifier(name),
             isParam ? this->view(view.tensor) + ".data()"
                     : fmt::format("static_cast<char *>({}) + {}", fresh("workspace"), offsetName(view.tensor)),
             view.elem == ElemType::Bool   ? "boolean"
             : view.elem == ElemType::TF32 ? "f32"
                                           : spelling(view.elem),
             deviceName + ".id", list(view.dims, names), list(view.strides, names), hostExpr(view.offset, names));
        arguments.push_back(fmt::format("&{}_argument.tensor", identifier(name)));
      } else if (auto scalar = launch.scalars.find(name); scalar != launch.scalars.end()) {
        arguments.push_back(hostExpr(scalar->second));
      } else {
        arguments.push_back(constantOf(launch.specialization, name));
      }
    }
    line("const tk_status launched = ::{}({}{}{});", identifier(callee.name), fmt::join(arguments, ", "),
         arguments.empty() ? "" : ", ", streamName);
    line("if (launched.code != TK_OK)\nreturn launched;\n}}");
  }

  /// A const parameter's value; a tensor that was left out is null.
  static std::string constantOf(const Specialization &specialization, const std::string &name) {
    for (const auto &[constant, value] : specialization.constants)
      if (constant == name)
        return std::to_string(value);
    return "nullptr";
  }

  const Signature &signature;
  std::vector<const planner::PlannedKernel *> planned;
  const SourceManager &sources;
  const std::string callName, deviceName, argumentsName, streamName, bytesName;
  std::string text;
  std::set<std::string> boundTypes;
};

/// Kernels in order of their first plan, each with all its plans.
template <class Visit> void forEachKernel(const std::vector<planner::PlannedKernel> &kernels, Visit visit) {
  std::set<const KernelInfo *> done;
  for (const planner::PlannedKernel &first : kernels) {
    if (!done.insert(first.kernel).second)
      continue;
    std::vector<const planner::PlannedKernel *> planned;
    for (const planner::PlannedKernel &other : kernels)
      if (other.kernel == first.kernel)
        planned.push_back(&other);
    visit(first.kernel->signature, std::move(planned));
  }
}

/// Programs in order, each with all its plans.
template <class Visit> void forEachProgram(const std::vector<std::unique_ptr<ProgramPlan>> &programs, Visit visit) {
  std::set<const ProgramInfo *> done;
  for (const auto &first : programs) {
    if (!done.insert(first->program).second)
      continue;
    std::vector<const ProgramPlan *> plans;
    for (const auto &other : programs)
      if (other->program == first->program)
        plans.push_back(other.get());
    visit(first->program->signature, plans);
  }
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

std::string printLaunchers(const std::vector<planner::PlannedKernel> &kernels, const SourceManager &sources) {
  std::string text;
  forEachKernel(kernels, [&](const Signature &signature, std::vector<const planner::PlannedKernel *> planned) {
    text += Launcher(signature, std::move(planned), sources).definition();
  });
  return text;
}

std::string printProgramLaunchers(const std::vector<std::unique_ptr<ProgramPlan>> &programs,
                                  const SourceManager &sources) {
  std::string text;
  forEachProgram(programs, [&](const Signature &signature, const std::vector<const ProgramPlan *> &plans) {
    text += Launcher(signature, {}, sources).programDefinition(plans);
  });
  return text;
}

std::optional<SourceLoc> findUnsupportedFill(const ProgramPlan &plan) {
  for (const ProgramStep &step : plan.steps)
    if (const auto *fill = std::get_if<FillStep>(&step)) {
      const bool ofWorkspace =
          std::any_of(plan.workspaces.begin(), plan.workspaces.end(),
                      [&](const Workspace &workspace) { return workspace.name == fill->view.tensor; });
      if (!ofWorkspace || fill->value.kind != ScalarExpr::Number || fill->value.value != 0)
        return fill->loc;
    }
  return std::nullopt;
}

std::string printHeader(const std::vector<planner::PlannedKernel> &kernels,
                        const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources) {
  std::string text = "#pragma once\n\n#include \"tk/host/tensor.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  forEachKernel(kernels, [&](const Signature &signature, std::vector<const planner::PlannedKernel *> planned) {
    text += commentLines(signature.doc);
    text += Launcher(signature, std::move(planned), sources).declaration() + ";\n\n";
  });
  forEachProgram(programs, [&](const Signature &signature, const std::vector<const ProgramPlan *> &) {
    const Launcher launcher(signature, {}, sources);
    text += commentLines(signature.doc) + launcher.programDeclaration() + ";\n";
    text += launcher.queryDeclaration() + ";\n\n";
  });
  return text + "#ifdef __cplusplus\n} // extern \"C\"\n#endif\n";
}

} // namespace tkc::cuda
