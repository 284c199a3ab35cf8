// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/GpuProgram.h"

#include "backends/common/Cpp.h"
#include "backends/cuda/Emit.h"
#include "backends/cuda/Standalone.h"
#include "backends/cuda/Types.h"
#include "harness/CaseData.h"
#include "harness/Expected.h"
#include "harness/Operations.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <llvm/Support/JSON.h>

namespace tkc::harness {
namespace {

class Maker {
public:
  Maker(const Module &module, const planner::PlanOptions &plans, const RunOptions &options, GpuPurpose purpose,
        const SourceManager &sources, DiagnosticEngine &diagnostics)
      : module(module), plans(plans), options(options), purpose(purpose), sources(sources), diagnostics(diagnostics) {}

  GpuProgram run() {
    planned = planner::planModule(module, plans, diagnostics);
    for (const Subject &subject : subjectsOf(module))
      if (subject.kernel && subject.signature->name.find(options.filter) != std::string::npos)
        for (size_t i = 0; i < subject.cases->size(); ++i)
          addCase(subject, i);
    std::string code = cuda::emitCuda(module, neededKernels(), {}, sources, {});
    code += "#include \"tk/host/test.h\"\n\n" + calls + "\nint main(int argc, char **argv) {\n" +
            "  static const tk::test::entry entries[] = {\n" + entries + "  };\n" +
            "  return tk::test::run(entries, argc, argv);\n}\n";
    program.source = cuda::inlineRuntime(code);
    return std::move(program);
  }

private:
  void addCase(const Subject &subject, size_t index) {
    CaseResult result;
    result.kernel = subject.signature->name;
    result.how = "gpu";
    program.bytes.push_back(0);
    program.operations.push_back(0);
    const size_t errorsBefore = diagnostics.numErrors();
    std::optional<PreparedCase> prepared = prepareCase(module, subject, index, options.seed, diagnostics);
    if (prepared) {
      result.description = prepared->description;
      result.message = encode(subject, *prepared);
    }
    if (diagnostics.numErrors() > errorsBefore)
      result.message = diagnostics.all().back().message;
    program.cases.push_back(std::move(result));
  }

  /// Puts the case into the program; says why not where that cannot be.
  std::string encode(const Subject &subject, const PreparedCase &prepared) {
    if (std::none_of(planned.begin(), planned.end(), [&](const planner::PlannedKernel &plan) {
          return serves(plan, subject.kernel, prepared.specialization);
        }))
      return "there is no plan for this specialisation";
    const std::unique_ptr<ir::Function> function =
        elaborate(module, *subject.kernel, prepared.specialization, {}, diagnostics);
    if (!function)
      return "it cannot be elaborated";
    std::optional<Expected> expected = Expected();
    if (purpose == GpuPurpose::Test) {
      const ErrorModel model = errorModelOf({function.get()}, Arithmetic::Nvidia);
      expected = computeExpected(prepared, module, model, diagnostics);
    } else {
      program.bytes.back() = countBytes(*function, prepared.arguments);
      program.operations.back() = countProductOperations(*function, prepared.arguments);
    }
    if (!expected)
      return "the reference cannot be evaluated";
    const size_t number = program.cases.size();
    const std::string file = fmt::format("{}.case", number);
    program.files[file] = encodeCase(prepared, *expected);
    needed.emplace_back(subject.kernel, prepared.specialization);
    calls += call(number, prepared);
    entries += fmt::format("    {{{}, {}, {}, {}, call_{}}},\n", number, quoted(prepared.signature->name),
                           quoted(prepared.description), quoted(file), number);
    return {};
  }

  static std::string quoted(std::string_view text) { return cpp::print(cpp::string(text)); }

  static std::string call(size_t number, const PreparedCase &prepared) {
    std::string arguments;
    for (const std::string &name : prepared.signature->order)
      arguments += argument(name, prepared) + ", ";
    return fmt::format("static tk_status call_{}(const tk::test::case_data &data, CUstream_st *stream) {{\n"
                       "  return {}({}stream);\n}}\n",
                       number, cuda::identifier(prepared.signature->name), arguments);
  }

  static std::string argument(const std::string &name, const PreparedCase &prepared) {
    for (const auto &[constant, value] : prepared.specialization.constants)
      if (constant == name)
        return std::to_string(value);
    for (const ir::Param &param : prepared.signature->params)
      if (param.name == name)
        return fmt::format("data.{}({})", param.isTensor ? "tensor" : "scalar", quoted(name));
    return "0";
  }

  static bool serves(const planner::PlannedKernel &plan, const KernelInfo *kernel, const Specialization &which) {
    return plan.kernel == kernel && plan.specialization == which;
  }

  std::vector<planner::PlannedKernel> neededKernels() {
    std::erase_if(planned, [&](const planner::PlannedKernel &plan) {
      return std::none_of(needed.begin(), needed.end(),
                          [&](const auto &need) { return serves(plan, need.first, need.second); });
    });
    return std::move(planned);
  }

  const Module &module;
  const planner::PlanOptions &plans;
  const RunOptions &options;
  const GpuPurpose purpose;
  const SourceManager &sources;
  DiagnosticEngine &diagnostics;
  GpuProgram program;
  std::string calls, entries;
  std::vector<planner::PlannedKernel> planned;
  std::vector<std::pair<const KernelInfo *, Specialization>> needed;
};

} // namespace

GpuProgram makeGpuProgram(const Module &module, const planner::PlanOptions &plans, const RunOptions &options,
                          GpuPurpose purpose, const SourceManager &sources, DiagnosticEngine &diagnostics) {
  return Maker(module, plans, options, purpose, sources, diagnostics).run();
}

void readResults(std::string_view output, const std::string &otherwise, std::vector<CaseResult> &cases) {
  for (CaseResult &result : cases)
    if (result.message.empty())
      result.message = otherwise;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(line.data(), line.size()));
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    if (!value)
      llvm::consumeError(value.takeError());
    const std::optional<int64_t> index = object ? object->getInteger("index") : std::nullopt;
    if (!index || *index < 0 || *index >= static_cast<int64_t>(cases.size()))
      continue;
    CaseResult &result = cases[static_cast<size_t>(*index)];
    result.passed = object->getBoolean("passed").value_or(false);
    result.maxError = object->getNumber("maxError").value_or(0);
    result.tolerance = object->getNumber("tolerance").value_or(0);
    result.seconds = object->getNumber("seconds").value_or(0);
    result.message = object->getString("message").value_or("").str();
  }
}

} // namespace tkc::harness
