// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/FfiFunctions.h"

#include "backends/cpp/Format.h"
#include "backends/emit/host/Entries.h"
#include "backends/emit/host/HostFunction.h"
#include "backends/emit/host/WorkspaceEntries.h"
#include "backends/emit/kernel/Types.h"
#include "support/Diagnostics.h"

#include <fmt/ranges.h>

namespace tkc::cuda {
namespace {

class FfiFunction : public HostFunction {
public:
  using HostFunction::HostFunction;

  std::string kernel() {
    open(EntryKind::Kernel);
    close(finish(EntryKind::Kernel, {}));
    return std::move(text);
  }

  /// `copied`: tensors that may be copied to workspace. To ask how much that takes checks the arguments once more.
  std::string kernelWithWorkspace(const std::vector<std::string> &copied) {
    open(EntryKind::Kernel, /*takesWorkspace=*/true);
    line("if ({}.needs_no_workspace({}))", argumentsName, fmt::join(identifiers(copied), ", "));
    line("return {};", finish(EntryKind::Kernel, {}));
    callWithWorkspace(EntryKind::WithWorkspace);
    return std::move(text);
  }

  std::string program() {
    open(EntryKind::Program, /*takesWorkspace=*/true);
    callWithWorkspace(EntryKind::Program);
    open(EntryKind::WorkspaceQuery);
    line("{0}->type_index = kTVMFFIInt;\n{0}->v_int64 = ::{1}({2});", result, functionName(EntryKind::WorkspaceQuery),
         fmt::join(names(), ", "));
    close(argumentsName + ".finish()");
    return std::move(text);
  }

private:
  /// As far as to the arguments in C, and the device that they are on.
  void open(EntryKind kind, bool takesWorkspace = false) {
    const size_t count = signature.order.size();
    const bool isQuery = kind == EntryKind::WorkspaceQuery;
    line("extern \"C\" TVM_FFI_DLL_EXPORT int __tvm_ffi_{}(void *, const TVMFFIAny *{}, int32_t {}, TVMFFIAny *{}) {{",
         functionName(kind), values, this->count, isQuery ? result : "");
    line("tk::ffi::arguments {}(\"{}\", {}, {}, {}, {});", argumentsName, signature.name, values, this->count, count,
         count + (takesWorkspace ? 1 : 0));
    for (const std::string &name : signature.order) {
      const ir::Param *param = findParam(name);
      const bool isTensor = param && param->isTensor;
      line("const {}{} = {}.{}(\"{}\");", isTensor ? "tk_tensor *" : numberType(name) + " ", identifier(name),
           argumentsName, isTensor ? "tensor" : fmt::format("number<{}>", numberType(name)), name);
    }
    line("if (!{0}.ok())\nreturn {0}.finish();", argumentsName);
    if (!isQuery)
      line("const tk::ffi::current_device {}({});", deviceName, argumentsName);
  }

  void callWithWorkspace(EntryKind kind) {
    line("tk::ffi::workspace {}({}, ::{}({}));", workspaceName, argumentsName, functionName(EntryKind::WorkspaceQuery),
         fmt::join(names(), ", "));
    line("if (!{0}.ok())\nreturn {0}.finish();", argumentsName);
    close(finish(kind, {workspaceName + ".data()", workspaceName + ".bytes()"}));
  }

  void close(const std::string &value) { line("return {};\n}}\n", value); }

  std::vector<std::string> identifiers(const std::vector<std::string> &names) const {
    std::vector<std::string> list;
    for (const std::string &name : names)
      list.push_back(identifier(name));
    return list;
  }
  std::vector<std::string> names() const { return identifiers(signature.order); }

  /// The call of an entry, which takes `trailing` and the stream behind the arguments, and what becomes of its status.
  std::string finish(EntryKind kind, const std::vector<std::string> &trailing) const {
    std::vector<std::string> list = names();
    list.insert(list.end(), trailing.begin(), trailing.end());
    list.push_back(argumentsName + ".stream()");
    return fmt::format("{}.finish(::{}({}))", argumentsName, functionName(kind), fmt::join(list, ", "));
  }

  const std::string values = fresh("values"), count = fresh("count"), result = fresh("result");
};

} // namespace

std::string printFfiFunctions(const Module &module, const std::vector<planner::PlannedKernel> &kernels,
                              const std::vector<std::unique_ptr<ProgramPlan>> &programs, const SourceManager &sources) {
  const Dialect &dialect = dialectOfAll(kernels);
  const FileNames names{kernelNames(kernels), entriesOf(kernels, programs)};
  std::string declarations, functions;
  forEachKernel(kernels, [&](const KernelInfo &kernel, const std::vector<const planner::PlannedKernel *> &planned) {
    FfiFunction function(kernel.signature, sources, dialect, names);
    const std::vector<std::string> copied = paddedTensors(kernel.signature, planned);
    std::vector<EntryKind> called{EntryKind::Kernel};
    if (!copied.empty())
      called.insert(called.end(), {EntryKind::WithWorkspace, EntryKind::WorkspaceQuery});
    for (const EntryKind kind : called)
      declarations += function.declaration(kind) + ";\n";
    functions += copied.empty() ? function.kernel() : function.kernelWithWorkspace(copied);
  });
  forEachProgram(programs, [&](const Signature &signature, const auto &) {
    FfiFunction function(signature, sources, dialect, names);
    for (const EntryKind kind : {EntryKind::Program, EntryKind::WorkspaceQuery})
      declarations += function.declaration(kind) + ";\n";
    functions += function.program();
  });
  const std::string file(sources.name(module.files.front().buffer));
  return fmt::format("// Generated by tkc from {}: its entries as functions of apache-tvm-ffi.\n"
                     "#include \"tk/host/ffi.h\"\n\n",
                     file.substr(file.rfind('/') + 1)) +
         formatCpp(fmt::format("extern \"C\" {{\n{}}} // extern \"C\"\n\n{}", declarations, functions));
}

} // namespace tkc::cuda
