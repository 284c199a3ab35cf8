// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace tkc::cost {
namespace {

std::string duration(double seconds) {
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} µs", seconds * 1e6);
}

std::string rates(double operations, double bytes, double seconds) {
  std::vector<std::string> parts;
  if (operations > 0 && seconds > 0)
    parts.push_back(fmt::format("{:.1f} TFLOP/s", operations / seconds / 1e12));
  if (bytes > 0 && seconds > 0)
    parts.push_back(fmt::format("{:.0f} GB/s", bytes / seconds / 1e9));
  return parts.empty() ? "" : fmt::format("  ({})", fmt::join(parts, ", "));
}

/// Busiest first; those that hardly do anything are left out.
std::vector<Unit> unitsOf(const Estimate &estimate) {
  std::vector<Unit> units;
  for (size_t i = 0; i < numUnits; ++i)
    if (estimate.busy[i] >= 0.005)
      units.push_back(static_cast<Unit>(i));
  std::sort(units.begin(), units.end(),
            [&](Unit a, Unit b) { return std::pair(-estimate.share(a), a) < std::pair(-estimate.share(b), b); });
  return units;
}

std::string formatStep(const Estimate &estimate, const arch::Description &arch) {
  std::string text;
  if (estimate.tiles > 0)
    text += fmt::format("    grid        {} tiles, {} blocks, {} at once on a multiprocessor: {:.2f} rounds\n",
                        estimate.tiles, estimate.blocks, estimate.residentBlocks, estimate.waves);
  if (estimate.tiles > 0)
    text += fmt::format("    tile        {}, the first {}\n", duration(estimate.blockSeconds),
                        duration(estimate.firstSeconds));
  text += fmt::format("    traffic     {:.1f} MB of device memory, {:.1f} MB of L2\n", estimate.memoryBytes / 1e6,
                      estimate.l2Bytes / 1e6);
  if (estimate.clockMHz > 0 && estimate.clockMHz < 0.995 * arch.clockMHz)
    text += fmt::format("    clock       {:.0f} MHz, as far as power allows\n", estimate.clockMHz);
  for (Unit unit : unitsOf(estimate)) {
    const int bar = static_cast<int>(estimate.share(unit) * 40 + 0.5);
    text += fmt::format("    {:>5.1f} %  {:<40} {}\n", estimate.share(unit) * 100,
                        std::string(static_cast<size_t>(std::clamp(bar, 0, 40)), '#'), spelling(unit));
  }
  text += fmt::format("    limit       {}\n", limitOf(estimate, arch));
  for (const std::string &assumption : estimate.assumptions)
    text += fmt::format("    assumed     {}\n", assumption);
  return text;
}

llvm::json::Object toJson(const Report::Step &step) {
  const Estimate &estimate = step.estimate;
  llvm::json::Object units;
  for (size_t i = 0; i < numUnits; ++i)
    units[spelling(static_cast<Unit>(i)).data()] = estimate.busy[i];
  llvm::json::Array advice;
  if (step.advice)
    for (const auto &[change, seconds] : *step.advice)
      advice.push_back(llvm::json::Object{{"change", change}, {"seconds", seconds}});
  return llvm::json::Object{{"name", step.name},
                            {"seconds", estimate.seconds},
                            {"tiles", estimate.tiles},
                            {"blocks", estimate.blocks},
                            {"residentBlocks", estimate.residentBlocks},
                            {"rounds", estimate.waves},
                            {"tileSeconds", estimate.blockSeconds},
                            {"firstTileSeconds", estimate.firstSeconds},
                            {"operations", estimate.operations},
                            {"memoryBytes", estimate.memoryBytes},
                            {"l2Bytes", estimate.l2Bytes},
                            {"waiting", estimate.waiting},
                            {"units", std::move(units)},
                            {"busiest", spelling(estimate.busiest()).data()},
                            {"clockMHz", estimate.clockMHz},
                            {"advice", std::move(advice)},
                            {"assumptions", llvm::json::Array(estimate.assumptions)}};
}

llvm::json::Object toJson(const Report &report) {
  llvm::json::Array steps;
  for (const Report::Step &step : report.steps)
    steps.push_back(toJson(step));
  return llvm::json::Object{{"name", report.name},       {"case", report.description},
                            {"seconds", report.seconds}, {"operations", report.operations},
                            {"bytes", report.bytes},     {"steps", std::move(steps)}};
}

} // namespace

std::string limitOf(const Estimate &estimate, const arch::Description &arch) {
  if (estimate.seconds <= 0)
    return "nothing";
  const Unit unit = estimate.busiest();
  const double share = estimate.share(unit);
  const double launch = arch.rates.launchNs * 1e-9 / estimate.seconds;
  if (estimate.tiles > 0 && launch > 0.4)
    return fmt::format("the launch, {:.0f} % of the time", launch * 100);
  const double rounds = std::max(1.0, std::ceil(estimate.waves - 1e-9));
  const double filled = estimate.waves > 0 ? estimate.waves / rounds : 1;
  if (estimate.tiles > 0 && estimate.tiles < arch.multiprocessors && share < 0.8)
    return fmt::format("{} tiles for {} multiprocessors", estimate.tiles, arch.multiprocessors);
  if (share > 0.75)
    return fmt::format("{}, {:.0f} % of the time", spelling(unit), share * 100);
  if (filled < 0.85)
    return fmt::format("the last of {:.0f} rounds of blocks, which fills {:.0f} % of the multiprocessors; then {}",
                       rounds, (estimate.waves - rounds + 1) * 100, spelling(unit));
  return fmt::format("latency: the computing role waits for {:.0f} % of its time; then {}, {:.0f} %",
                     estimate.waiting * 100, spelling(unit), share * 100);
}

std::string heading(const arch::Description &arch) {
  return fmt::format("{} ({}): {} multiprocessors at {} MHz, {} GB/s. {}\n", arch.part, arch.name, arch.multiprocessors,
                     arch.clockMHz, arch.bandwidthGBs,
                     arch.rates.measured
                         ? "A model, checked against measurements on this part."
                         : "A model that nobody has checked on this part: an estimate, no measurement.");
}

std::string format(const Report &report, const arch::Description &arch) {
  std::string text = fmt::format("\n{}  {}\n  {}{}\n", report.name, report.description, duration(report.seconds),
                                 rates(report.operations, report.bytes, report.seconds));
  for (const Report::Step &step : report.steps) {
    if (report.steps.size() > 1)
      text += fmt::format("  {}: {}\n", step.name, duration(step.estimate.seconds));
    text += formatStep(step.estimate, arch);
    if (step.advice && step.advice->empty())
      text += "    advice      no change of one key or tune alone would help by 1 %\n";
    for (size_t i = 0; step.advice && i < step.advice->size(); ++i) {
      const auto &[change, seconds] = (*step.advice)[i];
      text += fmt::format("    {:<10}  {}: {}, {:.1f} % less\n", i == 0 ? "advice" : "", change, duration(seconds),
                          (1 - seconds / step.estimate.seconds) * 100);
    }
  }
  return text;
}

std::string formatJson(const std::vector<Report> &reports, const arch::Description &arch) {
  llvm::json::Array cases;
  for (const Report &report : reports)
    cases.push_back(toJson(report));
  const llvm::json::Value all = llvm::json::Object{
      {"arch", arch.name}, {"part", arch.part}, {"measured", arch.rates.measured}, {"cases", std::move(cases)}};
  return llvm::formatv("{0:2}\n", all).str();
}

} // namespace tkc::cost
