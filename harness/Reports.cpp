// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Reports.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace tkc::harness {
namespace {

std::string duration(double seconds) {
  return seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} ms", seconds * 1e3);
}

size_t countFailed(const std::vector<CaseResult> &results) {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [](const CaseResult &result) { return !result.passed; }));
}

std::string escapeXml(const std::string &text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

} // namespace

std::string formatTable(const std::vector<CaseResult> &results) {
  size_t kernelWidth = 6, caseWidth = 4, howWidth = 7;
  for (const CaseResult &result : results) {
    kernelWidth = std::max(kernelWidth, result.kernel.size());
    caseWidth = std::max(caseWidth, std::min<size_t>(60, result.description.size()));
    howWidth = std::max(howWidth, result.how.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9}  {:>9}  {:>9}\n", "kernel", kernelWidth, "case",
                                 caseWidth, "checked", howWidth, "error", "allowed", "time");
  for (const CaseResult &result : results) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9.2g}  {:>9.2g}  {:>9}  {}\n", result.kernel, kernelWidth,
                        result.description, caseWidth, result.how, howWidth, result.maxError, result.tolerance,
                        duration(result.seconds), result.passed ? "ok" : "FAILED");
    if (!result.message.empty())
      text += fmt::format("    {}\n", result.message);
  }
  const size_t failed = countFailed(results);
  return text + fmt::format("{} passed, {} failed\n", results.size() - failed, failed);
}

std::string formatJUnit(const std::string &name, const std::vector<CaseResult> &results) {
  double seconds = 0;
  for (const CaseResult &result : results)
    seconds += result.seconds;
  std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                 "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{:.6f}\">\n",
                                 escapeXml(name), results.size(), countFailed(results), seconds);
  for (const CaseResult &result : results) {
    const std::string head =
        fmt::format("  <testcase classname=\"{}\" name=\"{} ({})\" time=\"{:.6f}\"", escapeXml(result.kernel),
                    escapeXml(result.description), escapeXml(result.how), result.seconds);
    text += result.passed
                ? head + "/>\n"
                : fmt::format("{}>\n    <failure message=\"{}\"/>\n  </testcase>\n", head, escapeXml(result.message));
  }
  return text + "</testsuite>\n";
}

std::string formatJson(const std::vector<CaseResult> &results) {
  // JSON has no infinities: an error without a bound is null.
  const auto number = [](double value) {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  llvm::json::Array cases;
  for (const CaseResult &result : results)
    cases.push_back(llvm::json::Object{{"kernel", result.kernel},
                                       {"case", result.description},
                                       {"how", result.how},
                                       {"maxError", number(result.maxError)},
                                       {"tolerance", number(result.tolerance)},
                                       {"seconds", number(result.seconds)},
                                       {"passed", result.passed},
                                       {"message", llvm::json::fixUTF8(result.message)}});
  const auto failed = static_cast<int64_t>(countFailed(results));
  llvm::json::Object root{
      {"cases", std::move(cases)}, {"passed", static_cast<int64_t>(results.size()) - failed}, {"failed", failed}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << '\n';
  return text;
}

ProgressBar::ProgressBar() : isTerminal(llvm::sys::Process::StandardErrIsDisplayed()) {}

ProgressBar::~ProgressBar() {
  if (isTerminal)
    llvm::errs() << "\r\x1b[K";
}

void ProgressBar::show(size_t done, size_t total, const std::string &name) {
  if (!isTerminal || total == 0)
    return;
  constexpr size_t width = 30;
  const size_t filled = width * done / total;
  std::string text = fmt::format("[{:=<{}}{:<{}}] {}/{} {}", "", filled, "", width - filled, done, total, name);
  // A line that the terminal breaks in two could not be taken back.
  const size_t columns = llvm::sys::Process::StandardErrColumns();
  if (columns > 0 && text.size() >= columns) {
    size_t end = columns - 1;
    while (end > 0 && (text[end] & 0xC0) == 0x80) // within a character
      --end;
    text.resize(end);
  }
  llvm::errs() << "\r\x1b[K" << text;
  llvm::errs().flush();
}

} // namespace tkc::harness
