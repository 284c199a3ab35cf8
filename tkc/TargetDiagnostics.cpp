// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/TargetDiagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::driver {
namespace {

/// An error or warning with its notes.
using Message = std::vector<Diagnostic>;

bool same(const Message &a, const Message &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Diagnostic &x, const Diagnostic &y) {
    return x.id == y.id && x.loc == y.loc && x.message == y.message;
  });
}

bool isNamed(const Message &message, const arch::Description &target) {
  return message.front().message.find(target.name) != std::string::npos;
}

std::vector<Message> messagesOf(const DiagnosticEngine &engine) {
  std::vector<Message> messages;
  for (const Diagnostic &diagnostic : engine.all()) {
    if (diagnostic.severity != Severity::Note || messages.empty())
      messages.emplace_back();
    messages.back().push_back(diagnostic);
  }
  return messages;
}

} // namespace

TargetDiagnostics::TargetDiagnostics(DiagnosticEngine &all, const std::vector<const arch::Description *> &targets)
    : all(all), targets(targets) {
  if (targets.size() > 1)
    for (size_t i = 0; i < targets.size(); ++i)
      engines.push_back(std::make_unique<DiagnosticEngine>(all.sourceManager()));
}

DiagnosticEngine &TargetDiagnostics::of(const arch::Description &target) {
  const auto index = std::find(targets.begin(), targets.end(), &target) - targets.begin();
  return engines.empty() ? all : *engines[static_cast<size_t>(index)];
}

void TargetDiagnostics::finish() {
  std::vector<std::vector<Message>> messages;
  for (const auto &engine : engines)
    messages.push_back(messagesOf(*engine));
  const auto says = [&](size_t target, auto test) {
    return std::any_of(messages[target].begin(), messages[target].end(), test);
  };
  for (size_t i = 0; i < messages.size(); ++i)
    for (const Message &message : messages[i]) {
      const auto isThis = [&](const Message &other) { return same(message, other); };
      bool isSaid = false;
      std::vector<std::string> of, notOf;
      for (size_t target = 0; target < messages.size(); ++target) {
        const bool isOf = says(target, isThis);
        isSaid |= isOf && target < i;
        if (isOf || !engines[target]->hasErrors())
          (isOf ? of : notOf).push_back("`" + targets[target]->name + "`");
      }
      if (isSaid)
        continue;
      for (const Diagnostic &diagnostic : message)
        all.append(diagnostic);
      const SourceRange where{message.front().loc, message.front().loc};
      if (!notOf.empty())
        all.report(Diag::note_of_some_targets, where, fmt::format("{}", fmt::join(of, ", ")),
                   fmt::format("{}", fmt::join(notOf, ", ")));
      else if (of.size() < messages.size() && !isNamed(message, *targets[i]))
        all.report(Diag::note_of_targets, where, fmt::format("{}", fmt::join(of, ", ")));
    }
}

} // namespace tkc::driver
