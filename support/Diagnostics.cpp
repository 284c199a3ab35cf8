// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnostics over llvm::SourceMgr. LLVM prints a caret only under pure ASCII, and would print a line of 10 MB in full;
// so a line is first brought into a window of single-column characters, LLVM places carets, underlines and fix-its
// under that, and the readable text (UTF-8 as written) is put back.
#include "support/Diagnostics.h"

#include <algorithm>
#include <array>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/WithColor.h>
#include <llvm/Support/raw_ostream.h>

namespace tkc {
namespace {

struct Row {
  std::string_view name;
  Severity severity;
  std::string_view text;
};

constexpr std::array rows{
#define TKC_DIAG(id, severity, text) Row{#id, Severity::severity, text},
#include "support/Diagnostics.def"
#undef TKC_DIAG
};

const Row &rowOf(Diag id) { return rows[static_cast<size_t>(id)]; }

llvm::SourceMgr::DiagKind llvmKind(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return llvm::SourceMgr::DK_Error;
  case Severity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case Severity::Note:
    return llvm::SourceMgr::DK_Note;
  }
  llvm_unreachable("every severity is handled above");
}

/// The part of a line that is shown, one character a column.
struct Excerpt {
  std::string ascii;   ///< what LLVM aligns under
  std::string visible; ///< the same columns as the reader sees them
  /// Column of each byte of the line from `first` on; one more entry for the end.
  std::vector<unsigned> columnOfByte;
  size_t first = 0; ///< byte of the line at which the excerpt starts

  unsigned column(size_t byteInLine) const {
    size_t at = byteInLine < first ? 0 : byteInLine - first;
    return columnOfByte[std::min(at, columnOfByte.size() - 1)];
  }
};

void appendColumns(Excerpt &excerpt, size_t bytes, std::string_view shown, unsigned columns) {
  for (size_t i = 0; i < bytes; ++i)
    excerpt.columnOfByte.push_back(excerpt.ascii.size());
  excerpt.ascii.append(columns, shown.size() == columns ? ' ' : '?');
  if (shown.size() == columns)
    excerpt.ascii.replace(excerpt.ascii.size() - columns, columns, shown);
  excerpt.visible += shown;
}

constexpr size_t maxLineBytes = 160;

/// Shows at most 160 bytes of `line` with `caret` among them. Tabs become eight-column stops, control characters and
/// bytes that are no UTF-8 a `?`.
Excerpt makeExcerpt(std::string_view line, size_t caret) {
  Excerpt excerpt;
  if (line.size() > maxLineBytes) {
    excerpt.first = caret > maxLineBytes / 2 ? std::min(caret - maxLineBytes / 2, line.size() - maxLineBytes) : 0;
    line = line.substr(excerpt.first, maxLineBytes);
  }
  for (size_t i = 0; i < line.size();) {
    auto byte = static_cast<unsigned char>(line[i]);
    if (byte == '\t') {
      unsigned width = 8 - excerpt.ascii.size() % 8;
      appendColumns(excerpt, 1, std::string(width, ' '), width);
      ++i;
    } else if (byte < 0x80) {
      appendColumns(excerpt, 1, llvm::isPrint(line[i]) ? line.substr(i, 1) : "?", 1);
      ++i;
    } else {
      unsigned length = llvm::getNumBytesForUTF8(byte);
      auto begin = reinterpret_cast<const llvm::UTF8 *>(line.data() + i);
      bool legal = i + length <= line.size() && llvm::isLegalUTF8Sequence(begin, begin + length);
      if (!legal)
        length = 1;
      appendColumns(excerpt, length, legal ? line.substr(i, length) : "?", 1);
      i += length;
    }
  }
  excerpt.columnOfByte.push_back(excerpt.ascii.size());
  return excerpt;
}

} // namespace

std::string_view diagText(Diag id) { return rowOf(id).text; }
std::string_view diagName(Diag id) { return rowOf(id).name; }
Severity diagSeverity(Diag id) { return rowOf(id).severity; }
size_t numDiags() { return rows.size(); }

// ---- SourceManager -------------------------------------------------------------------------------------------------

struct SourceManager::Impl {
  llvm::SourceMgr sources;

  const llvm::MemoryBuffer &buffer(uint32_t id) const { return *sources.getMemoryBuffer(id); }

  llvm::SMLoc pointer(SourceLoc loc) const {
    const llvm::MemoryBuffer &text = buffer(loc.buffer);
    size_t offset = std::min<size_t>(loc.offset, text.getBufferSize());
    return llvm::SMLoc::getFromPointer(text.getBufferStart() + offset);
  }
};

SourceManager::SourceManager() : impl(std::make_unique<Impl>()) {}
SourceManager::~SourceManager() = default;

uint32_t SourceManager::addBuffer(std::string name, std::string text) {
  auto id = impl->sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  // LLVM finds line starts on first use; now, so that later look-ups from several threads only read.
  impl->sources.getLineAndColumn(impl->pointer({id, 0}), id);
  return id;
}

uint32_t SourceManager::numBuffers() const { return impl->sources.getNumBuffers(); }

std::string_view SourceManager::text(uint32_t buffer) const {
  llvm::StringRef text = impl->buffer(buffer).getBuffer();
  return {text.data(), text.size()};
}

std::string_view SourceManager::name(uint32_t buffer) const {
  llvm::StringRef name = impl->buffer(buffer).getBufferIdentifier();
  return {name.data(), name.size()};
}

std::string_view SourceManager::text(SourceRange range) const {
  std::string_view all = text(range.begin.buffer);
  size_t begin = std::min<size_t>(range.begin.offset, all.size());
  size_t end = std::clamp<size_t>(range.end.offset, begin, all.size());
  return all.substr(begin, end - begin);
}

SourceManager::LineColumn SourceManager::lineColumn(SourceLoc loc) const {
  auto [line, column] = impl->sources.getLineAndColumn(impl->pointer(loc), loc.buffer);
  return {line, column};
}

std::string SourceManager::fileLine(SourceLoc loc) const {
  if (!loc.isValid())
    return "<unknown>";
  return fmt::format("{}:{}", name(loc.buffer), lineColumn(loc).line);
}

std::string SourceManager::render(const Diagnostic &diagnostic, bool color) const {
  std::string output;
  llvm::raw_string_ostream stream(output);
  if (color)
    stream.enable_colors(true);
  llvm::SourceMgr::DiagKind kind = llvmKind(diagnostic.severity);
  if (!diagnostic.loc.isValid()) {
    llvm::SMDiagnostic("tkc", kind, diagnostic.message).print(nullptr, stream, color);
    return output;
  }

  auto [lineNumber, columnNumber] = lineColumn(diagnostic.loc);
  std::string_view all = text(diagnostic.loc.buffer);
  size_t caret = std::min<size_t>(diagnostic.loc.offset, all.size());
  size_t lineBegin = caret - (columnNumber - 1);
  size_t lineEnd = std::min(all.find_first_of("\r\n", lineBegin), all.size());
  Excerpt excerpt = makeExcerpt(all.substr(lineBegin, lineEnd - lineBegin), caret - lineBegin);

  auto columnAt = [&](SourceLoc loc) {
    size_t offset = std::clamp<size_t>(loc.offset, lineBegin, lineEnd);
    return excerpt.column(offset - lineBegin);
  };
  auto touchesLine = [&](SourceRange range) {
    return range.begin.buffer == diagnostic.loc.buffer && range.begin.offset <= lineEnd &&
           range.end.offset >= lineBegin;
  };
  // LLVM reads the line through these pointers, so they point into the ASCII copy.
  auto pointerAt = [&](unsigned column) { return llvm::SMLoc::getFromPointer(excerpt.ascii.data() + column); };

  std::vector<std::pair<unsigned, unsigned>> ranges;
  for (SourceRange range : diagnostic.ranges)
    if (touchesLine(range))
      ranges.emplace_back(columnAt(range.begin), columnAt(range.end));
  std::vector<llvm::SMFixIt> fixIts;
  for (const FixIt &fixIt : diagnostic.fixIts)
    if (touchesLine(fixIt.range))
      fixIts.emplace_back(llvm::SMRange(pointerAt(columnAt(fixIt.range.begin)), pointerAt(columnAt(fixIt.range.end))),
                          fixIt.text);

  unsigned caretColumn = columnAt(diagnostic.loc);
  llvm::SMDiagnostic body(impl->sources, pointerAt(caretColumn), "", static_cast<int>(lineNumber),
                          static_cast<int>(caretColumn), kind, diagnostic.message, excerpt.ascii, ranges, fixIts);
  llvm::WithColor(stream, llvm::raw_ostream::SAVEDCOLOR, true, false,
                  color ? llvm::ColorMode::Enable : llvm::ColorMode::Disable)
      << fmt::format("{}:{}:{}: ", name(diagnostic.loc.buffer), lineNumber, columnNumber);
  body.print(nullptr, stream, color, /*ShowKindLabel=*/true, /*ShowLocation=*/false);

  if (size_t at = output.find("\n" + excerpt.ascii + "\n"); at != std::string::npos)
    output.replace(at + 1, excerpt.ascii.size(), excerpt.visible);
  return output;
}

// ---- DiagnosticEngine ----------------------------------------------------------------------------------------------

namespace {
/// A name in a message may be as long as its author liked.
std::string shortened(std::string message) {
  constexpr size_t longest = 1000;
  if (message.size() <= longest)
    return message;
  size_t end = longest;
  while ((message[end] & 0xc0) == 0x80) // not within a character
    --end;
  return message.substr(0, end) + "…";
}

/// Stands for a diagnostic past the limit, of which nothing is kept.
constexpr size_t dropped = static_cast<size_t>(-1);
} // namespace

DiagnosticEngine::Builder &DiagnosticEngine::Builder::range(SourceRange range) {
  if (index != dropped && range.isValid())
    engine->diagnostics[index].ranges.push_back(range);
  return *this;
}

DiagnosticEngine::Builder &DiagnosticEngine::Builder::fixIt(SourceRange range, std::string text) {
  if (index != dropped && range.isValid())
    engine->diagnostics[index].fixIts.push_back({range, std::move(text)});
  return *this;
}

DiagnosticEngine::Builder DiagnosticEngine::add(Diag id, SourceRange where, std::string message) {
  Diagnostic diagnostic{id, diagSeverity(id), where.begin, {}, shortened(std::move(message)), {}};
  if (where.isValid() && where.end.offset > where.begin.offset)
    diagnostic.ranges.push_back(where);
  append(std::move(diagnostic));
  return Builder(*this, dropping ? dropped : diagnostics.size() - 1);
}

/// What specialisations or cases have in common each of them says.
bool DiagnosticEngine::isRepetition(const Diagnostic &diagnostic) const {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic &said) {
    return said.id == diagnostic.id && said.loc == diagnostic.loc && said.message == diagnostic.message;
  });
}

void DiagnosticEngine::append(Diagnostic diagnostic) {
  if (diagnostic.severity != Severity::Note) {
    const bool isRepeated = isRepetition(diagnostic);
    repetitions += isRepeated && diagnostic.severity == Severity::Error ? 1 : 0;
    dropping = isRepeated || (diagnostic.severity == Severity::Error && limitReached());
  }
  if (dropping)
    return;
  if (diagnostic.severity == Severity::Error)
    ++errorCount;
  diagnostics.push_back(std::move(diagnostic));
}

} // namespace tkc
