// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Explain.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::planner {
namespace {

std::string_view heading(plan::Note::Topic topic) {
  switch (topic) {
  case plan::Note::Roles:
    return "roles";
  case plan::Note::Operands:
    return "products";
  case plan::Note::Copies:
    return "copies";
  case plan::Note::Stages:
    return "stages";
  case plan::Note::Overlap:
    return "overlap";
  case plan::Note::Loops:
    return "loops";
  case plan::Note::Cluster:
    return "cluster";
  case plan::Note::Grid:
    return "grid";
  case plan::Note::Fit:
    return "changed to fit";
  }
  return "";
}

class Explainer {
public:
  Explainer(const plan::Plan &plan, const arch::Description &arch, const SourceManager &sources)
      : plan(plan), arch(arch), sources(sources), notes(plan.notes) {
    std::stable_sort(notes.begin(), notes.end(),
                     [](const plan::Note &a, const plan::Note &b) { return a.loc.offset < b.loc.offset; });
  }

  std::string run() {
    text = fmt::format("{} for {}", plan.kernel, plan.arch);
    for (const auto &[name, type] : plan.typeArgs)
      text += fmt::format(", {} = {}", name, spelling(type));
    for (const auto &[name, value] : plan.constants)
      text += fmt::format(", {} = {}", name, value);
    text += "\n";
    for (auto topic : {plan::Note::Roles, plan::Note::Operands, plan::Note::Copies, plan::Note::Stages,
                       plan::Note::Overlap, plan::Note::Loops, plan::Note::Cluster, plan::Note::Grid, plan::Note::Fit})
      explainTopic(topic);
    explainBudgets();
    return text + "\n";
  }

private:
  void line(std::string_view words) { text += fmt::format("    {}\n", words); }

  void explainTopic(plan::Note::Topic topic) {
    const bool isRoles = topic == plan::Note::Roles;
    auto isOf = [&](const plan::Note &note) { return note.topic == topic; };
    if (!isRoles && std::none_of(notes.begin(), notes.end(), isOf))
      return;
    text += fmt::format("  {}\n", heading(topic));
    if (isRoles)
      explainRoles();
    std::set<std::string> said; // the parts of a split loop say the same
    for (const plan::Note &note : notes)
      if (isOf(note)) {
        const std::string words =
            note.loc.isValid() ? fmt::format("{}: {}", sources.fileLine(note.loc), note.text) : note.text;
        if (said.insert(words).second)
          line(words);
      }
  }

  void explainRoles() {
    for (const plan::Role &role : plan.roles)
      line(fmt::format("{}: {}{} warps{}", role.name,
                       role.processes() > 1 ? fmt::format("{} × ", role.processes()) : "", role.warps,
                       role.registers > 0 ? fmt::format(", {} registers a thread", role.registers) : ""));
  }

  void explainBudgets() {
    text += "  budgets\n";
    for (const plan::Buffer &buffer : plan.buffers)
      line(fmt::format("`{}`: {} × {}x{} {}, {}, {} bytes", buffer.name, buffer.stages, buffer.rows, buffer.cols,
                       spelling(buffer.elem),
                       buffer.swizzle == plan::Swizzle::None
                           ? "row by row"
                           : fmt::format("swizzled in {} bytes", plan::bytes(buffer.swizzle)),
                       buffer.totalBytes()));
    line(fmt::format("shared memory: {} of {} bytes", plan.sharedBytes, arch.sharedBytesPerBlock));
    int64_t registers = 0;
    for (const plan::Role &role : plan.roles)
      registers += static_cast<int64_t>(role.registers) * role.totalWarps() * arch.warpSize;
    if (registers > 0)
      line(fmt::format("registers: {} of {}", registers, arch.registersPerMultiprocessor));
    line(fmt::format("threads: {} of {}", plan.threads, arch.maxThreadsPerBlock));
  }

  const plan::Plan &plan;
  const arch::Description &arch;
  const SourceManager &sources;
  std::vector<plan::Note> notes; ///< in the order of the source
  std::string text;
};

} // namespace

std::string explain(const plan::Plan &plan, const arch::Description &arch, const SourceManager &sources) {
  return Explainer(plan, arch, sources).run();
}

} // namespace tkc::planner
