// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reporting from semantic analysis: an error that was already given at the same place, by another specialisation or by
// another attempt at a loop, is not given again.
#pragma once

#include "support/Diagnostics.h"

#include <optional>

namespace tkc::sema {

/// What follows one error. Does nothing where the error itself was a repetition.
class Reported {
public:
  Reported() = default;
  Reported(DiagnosticEngine &engine, DiagnosticEngine::Builder builder) : engine(&engine), builder(builder) {}

  Reported &range(SourceRange where) {
    if (builder && where.isValid())
      builder->range(where);
    return *this;
  }
  Reported &fixIt(SourceRange where, std::string text) {
    if (builder)
      builder->fixIt(where, std::move(text));
    return *this;
  }
  template <class... Args> Reported &note(Diag id, SourceRange where, const Args &...args) {
    if (builder)
      engine->report(id, where, args...);
    return *this;
  }

private:
  DiagnosticEngine *engine = nullptr;
  std::optional<DiagnosticEngine::Builder> builder;
};

class Reporter {
public:
  explicit Reporter(DiagnosticEngine &engine) : engine(engine) {}

  /// `seen` becomes true also where the error was a repetition, so that callers can stop after errors.
  template <class... Args> Reported error(Diag id, SourceRange where, const Args &...args) {
    seen = true;
    if (isRepetition(id, where.begin) || engine.limitReached())
      return {};
    return {engine, engine.report(id, where, args...)};
  }
  /// An error of which the parser has spoken.
  void fail() { seen = true; }
  bool failed() const { return seen; }
  DiagnosticEngine &diagnostics() { return engine; }

private:
  bool isRepetition(Diag id, SourceLoc loc) const {
    for (const Diagnostic &diagnostic : engine.all())
      if (diagnostic.id == id && diagnostic.loc == loc && loc.isValid())
        return true;
    return false;
  }

  DiagnosticEngine &engine;
  bool seen = false;
};

} // namespace tkc::sema
