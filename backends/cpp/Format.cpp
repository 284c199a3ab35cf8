// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpp/Format.h"

#include "clang/Format/Format.h"
#include "clang/Tooling/Core/Replacement.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

namespace tkc {

namespace {

constexpr size_t columns = 120;

clang::format::FormatStyle emittedStyle() {
  using clang::format::FormatStyle;
  FormatStyle style = clang::format::getLLVMStyle(FormatStyle::LK_Cpp);
  style.ColumnLimit = columns;
  style.AllowShortFunctionsOnASingleLine = FormatStyle::SFS_Inline;
  style.SortIncludes.Enabled = false;
  // Each of these would be a pass of its own over the text, which has nothing for it.
  style.FixNamespaceComments = false;
  style.SortUsingDeclarations = FormatStyle::SUD_Never;
  style.SpaceAfterTemplateKeyword = true;
  style.BreakTemplateDeclarations = FormatStyle::BTDS_MultiLine;
  return style;
}

std::string format(const clang::format::FormatStyle &style, const std::string &code) {
  const clang::tooling::Range everything(0, code.size());
  const clang::tooling::Replacements replacements = clang::format::reformat(style, code, {everything}, "emitted.cu");
  auto formatted = clang::tooling::applyAllReplacements(code, replacements);
  if (!formatted) {
    llvm::consumeError(formatted.takeError());
    return code;
  }
  return *formatted;
}

std::string_view takeLine(std::string_view &text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

size_t indentOf(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Long lines, each with its broken form.
using BrokenLines = std::map<std::string_view, std::string>;

constexpr std::string_view separator = "tk_next_line;";

/// Lines that make the head of a class, of a block, or of a loop over the statement on the next line, complete.
std::vector<std::string_view> completion(std::string_view line) {
  if (line.back() == ';')
    return {};
  if (line.back() != '{')
    return {"tk_body;"};
  const bool isClass = line.substr(indentOf(line)).starts_with("struct ");
  return {"tk_body;", isClass ? "};" : "}"};
}

/// Breaks lines of one indentation. Those within functions are formatted as statements of one function, with as many
/// columns fewer as they stand further to the right there.
void breakLines(size_t indent, const std::vector<BrokenLines::iterator> &lines) {
  const bool inFunction = indent > 0;
  clang::format::FormatStyle style = emittedStyle();
  style.ColumnLimit = columns - indent + (inFunction ? 2 : 0);
  std::string code = inFunction ? "void tk_function() {\n" : "";
  for (const auto &line : lines) {
    std::vector<std::string_view> statement = {line->first};
    for (const std::string_view added : completion(line->first))
      statement.push_back(added);
    statement.push_back(separator);
    code += fmt::format("{}\n", fmt::join(statement, "\n"));
  }
  const std::string formatted = format(style, code + (inFunction ? "}\n" : ""));

  std::string_view rest = formatted;
  if (inFunction)
    takeLine(rest);
  const std::string shift(inFunction ? indent - 2 : 0, ' ');
  for (const auto &line : lines) {
    std::vector<std::string_view> pieces;
    const auto isWhole = [&] { return !pieces.empty() && pieces.back().substr(indentOf(pieces.back())) == separator; };
    while (!rest.empty() && !isWhole())
      pieces.push_back(takeLine(rest));
    if (!isWhole() || pieces.size() <= completion(line->first).size())
      return; // not laid out as a statement: this line and the next stay as they are
    pieces.resize(pieces.size() - completion(line->first).size() - 1);
    for (const std::string_view piece : pieces)
      line->second += shift + std::string(piece) + "\n";
  }
}

/// Comments within functions quote lines of the source, and are not broken; nor is `} else if (…) {`, which is no
/// statement by itself.
bool isLong(std::string_view line) {
  const std::string_view text = line.substr(indentOf(line));
  return line.size() > columns && !text.starts_with("// ") && !text.starts_with("}");
}

} // namespace

std::string formatCpp(const std::string &code) { return format(emittedStyle(), code); }

std::string breakLongLines(const std::string &code) {
  BrokenLines broken;
  for (std::string_view rest = code; !rest.empty();)
    if (const std::string_view line = takeLine(rest); isLong(line))
      broken.try_emplace(line);
  std::map<size_t, std::vector<BrokenLines::iterator>> byIndent;
  for (auto line = broken.begin(); line != broken.end(); ++line)
    byIndent[indentOf(line->first)].push_back(line);

  std::vector<std::pair<size_t, std::vector<BrokenLines::iterator>>> groups(byIndent.begin(), byIndent.end());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < groups.size(); i = next++)
      breakLines(groups[i].first, groups[i].second);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(std::thread::hardware_concurrency(), groups.size()); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();

  std::string text;
  for (std::string_view rest = code; !rest.empty();) {
    const std::string_view line = takeLine(rest);
    const auto found = broken.find(line);
    text += found == broken.end() || found->second.empty() ? std::string(line) + "\n" : found->second;
  }
  return text;
}

} // namespace tkc
