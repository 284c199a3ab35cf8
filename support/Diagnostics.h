// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources and diagnostics. The implementation is llvm::SourceMgr's; its header stays in Diagnostics.cpp.
#pragma once

#include "support/Source.h"

#include <fmt/core.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tkc {

enum class Severity : uint8_t { Error, Warning, Note };

/// One row a diagnostic in Diagnostics.def: `TKC_DIAG(id, severity, "text with {} arguments")`.
enum class Diag : uint16_t {
#define TKC_DIAG(id, severity, text) id,
#include "support/Diagnostics.def"
#undef TKC_DIAG
};

/// The row's text, and its name as spelled in Diagnostics.def.
std::string_view diagText(Diag id);
std::string_view diagName(Diag id);
Severity diagSeverity(Diag id);
size_t numDiags();

/// A replacement that is surely right, shown under the caret. An empty range inserts.
struct FixIt {
  SourceRange range;
  std::string text;
};

struct Diagnostic {
  Diag id;
  Severity severity;
  SourceLoc loc;                   ///< where the caret goes; invalid for messages about no place in a file
  std::vector<SourceRange> ranges; ///< underlined
  std::string message;
  std::vector<FixIt> fixIts;
};

/// Owns the text of every file of a run, and prints what is said about them.
class SourceManager {
public:
  SourceManager();
  ~SourceManager();
  SourceManager(const SourceManager &) = delete;

  /// Returns a buffer id (from 1).
  uint32_t addBuffer(std::string name, std::string text);
  uint32_t numBuffers() const;
  std::string_view text(uint32_t buffer) const;
  std::string_view name(uint32_t buffer) const;
  std::string_view text(SourceRange range) const;

  struct LineColumn {
    unsigned line;   ///< from 1
    unsigned column; ///< from 1, in bytes
  };
  LineColumn lineColumn(SourceLoc loc) const;
  /// "gemm.tk:5", for comments and tables.
  std::string fileLine(SourceLoc loc) const;

  /// Clang's format: `file:line:col: error: …`, the line, a caret with underlines, fix-its below.
  std::string render(const Diagnostic &diagnostic, bool color) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Collects diagnostics in order. Nothing is printed here: the driver (or --verify-diagnostics) decides.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  /// Adds notes, ranges and fix-its to the diagnostic just reported.
  class Builder {
  public:
    Builder(DiagnosticEngine &engine, size_t index) : engine(&engine), index(index) {}
    Builder &range(SourceRange range);
    Builder &fixIt(SourceRange range, std::string text);

  private:
    DiagnosticEngine *engine;
    size_t index;
  };

  /// Formats the row's text with `args`. The caret stands at `where.begin`, and all of `where` is underlined.
  template <class... Args> Builder report(Diag id, SourceRange where, const Args &...args) {
    return add(
        id, where,
        fmt::vformat(fmt::string_view(diagText(id).data(), diagText(id).size()), fmt::make_format_args(args...)));
  }

  /// Adds what another engine has reported, of the same sources.
  void append(Diagnostic diagnostic);

  bool hasErrors() const { return errorCount != 0; }
  /// Repetitions as well, so that it grows with every error.
  size_t numErrors() const { return errorCount + repetitions; }
  size_t numKeptErrors() const { return errorCount; }
  /// After this many errors (20, as clang) the rest of a run is not reported; its notes neither.
  bool limitReached() const { return errorCount >= errorLimit; }
  void setErrorLimit(size_t limit) { errorLimit = limit; }
  const std::vector<Diagnostic> &all() const { return diagnostics; }
  const SourceManager &sourceManager() const { return sources; }

private:
  bool isRepetition(const Diagnostic &diagnostic) const;
  Builder add(Diag id, SourceRange where, std::string message);

  const SourceManager &sources;
  std::vector<Diagnostic> diagnostics;
  size_t errorCount = 0;
  size_t errorLimit = 20;
  size_t repetitions = 0; ///< errors that were given before, at the same place and in the same words
  bool dropping = false;  ///< an error past the limit, or a repetition, was dropped, and what belongs to it goes too
};

} // namespace tkc
