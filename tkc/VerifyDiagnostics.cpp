// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify-diagnostics: a test says in comments which messages it is about, and fails on missing and on unexpected
// ones.
//   x = y;  // expected-error {{unknown name `y`}}
//   // expected-note@-1 {{…}}
// The text is a part of the message; the number counts lines from the comment's own.
#include "tkc/Driver.h"

#include <algorithm>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Regex.h>

namespace tkc::driver {
namespace {

struct Expectation {
  uint32_t buffer;
  int line;
  int writtenOnLine;
  Severity severity;
  std::string text;
  bool met = false;
};

Severity severityOf(llvm::StringRef word) {
  if (word == "error")
    return Severity::Error;
  return word == "warning" ? Severity::Warning : Severity::Note;
}

const char *wordOf(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  __builtin_unreachable();
}

void collect(const SourceManager &sources, uint32_t buffer, std::vector<Expectation> &expectations) {
  static const llvm::Regex pattern("expected-(error|warning|note)(@([+-][0-9]+))? *\\{\\{(([^}]|}[^}])*)}}");
  llvm::StringRef rest(sources.text(buffer).data(), sources.text(buffer).size());
  for (int line = 1; !rest.empty(); ++line) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    if (!text.contains("expected-"))
      continue;
    llvm::SmallVector<llvm::StringRef, 6> match;
    while (pattern.match(text, &match)) {
      int offset = 0;
      if (!match[3].empty())
        match[3].ltrim('+').getAsInteger(10, offset);
      expectations.push_back({buffer, line + offset, line, severityOf(match[1]), match[4].str()});
      text = text.substr(match[0].end() - text.begin());
    }
  }
}

} // namespace

std::string checkExpectedDiagnostics(const SourceManager &sources, const DiagnosticEngine &diagnostics) {
  std::vector<Expectation> expectations;
  for (uint32_t buffer = 1; buffer <= sources.numBuffers(); ++buffer)
    collect(sources, buffer, expectations);

  std::string differences;
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    int line = diagnostic.loc.isValid() ? static_cast<int>(sources.lineColumn(diagnostic.loc).line) : 0;
    auto expected = std::find_if(expectations.begin(), expectations.end(), [&](const Expectation &candidate) {
      return !candidate.met && candidate.severity == diagnostic.severity && candidate.line == line &&
             candidate.buffer == diagnostic.loc.buffer && diagnostic.message.find(candidate.text) != std::string::npos;
    });
    if (expected != expectations.end())
      expected->met = true;
    else
      differences += "unexpected: " + sources.render(diagnostic, false);
  }
  for (const Expectation &expectation : expectations)
    if (!expectation.met)
      differences +=
          fmt::format("{}:{}: missing: {}: {} (expected by line {})\n", sources.name(expectation.buffer),
                      expectation.line, wordOf(expectation.severity), expectation.text, expectation.writtenOnLine);
  return differences;
}

} // namespace tkc::driver
