// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formatter. It goes through a file item by item: an item is a statement, or the header of a body. Inside an item,
// tokens are set with the formatter's spacing; a break that the author made at a place where one may stand is kept, and
// a line over 120 columns is broken at its outermost possible place. What follows a break is aligned with the bracket
// that is open, or with the value after `=`.
//   let x = foo(aaaa,bbbb ,
//     cccc)+1 ;
//   ⇒ let x = foo(aaaa, bbbb,
//                 cccc) + 1;
// A body that stands on one line stays there while it fits.
#include "frontend/Formatter.h"

#include "frontend/Parser.h"
#include "frontend/format/Elements.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <stdexcept>

namespace tkc {
namespace formatter {
namespace {

constexpr unsigned maxColumns = 120;
constexpr unsigned indentStep = 2;

unsigned width(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

/// Sets one item, the elements `first` to `last`, after what the line already holds.
class ItemWriter {
public:
  ItemWriter(const std::vector<Element> &elements, size_t first, size_t last, unsigned indent, unsigned column)
      : elements(elements), first(first), last(last), indent(indent) {
    state.column = column;
    const Token &word = elements[first].token;
    bool alignsAfterWord = word.is(TokenKind::KwParallel) || word.is(TokenKind::KwTune);
    plainAlign = alignsAfterWord ? column + word.text.size() + 1 : indent + 2 * indentStep;
  }

  std::string write() {
    bool separated = true;
    for (size_t i = first; i < last;) {
      if (!separated)
        separate(i);
      put(elements[i]);
      separated = state.column > maxColumns && !elements[i].isComment && breakEarlier(i);
      if (!separated)
        ++i;
    }
    return std::move(text);
  }

  /// Whether a line became longer than it should be; comments may.
  bool isTooLong() const { return tooLong; }
  bool endsInComment() const { return state.lineEndsInComment; }
  unsigned column() const { return state.column; }

private:
  struct State {
    unsigned column = 0;
    std::vector<unsigned> brackets; ///< the column after each open one
    unsigned valueColumn = 0;       ///< 0: no `=` yet
    bool inWhere = false;
    bool whereStartsLine = false;
    bool lineEndsInComment = false;
    bool lineIsEmpty = false;
    bool isBroken = false; ///< on a second line or later
  };
  /// A place on the current line where it could break instead.
  struct Opportunity {
    size_t element;
    unsigned tightness;
    size_t textSize;
    State state;
  };

  unsigned alignment(const Element &next) const {
    if (next.role == Role::WhereClause)
      return indent + indentStep;
    if (next.role == Role::BlockOpen)
      return indent;
    if (!state.brackets.empty())
      return state.brackets.back();
    if (state.inWhere)
      return indent + indentStep + std::string_view("where ").size();
    return state.valueColumn ? state.valueColumn : plainAlign;
  }

  void newLine(const Element &next) {
    state.column = alignment(next);
    text += "\n" + std::string(state.column, ' ');
    state.lineEndsInComment = false;
    state.lineIsEmpty = true;
    state.isBroken = true;
    opportunities.clear();
  }

  /// Space or a line break before element `i`.
  void separate(size_t i) {
    const Element &before = elements[i - 1];
    const Element &after = elements[i];
    bool mayBreak = mayBreakBetween(before, after);
    bool braceAlone = after.role == Role::BlockOpen && (state.whereStartsLine || (after.startsLine && state.isBroken));
    if (state.lineEndsInComment || braceAlone || (after.startsLine && mayBreak))
      return newLine(after);
    if (after.isComment) {
      unsigned column = std::max(after.column, state.column + 1);
      text += std::string(column - state.column, ' ');
      state.column = column;
      return;
    }
    // Operators that read as words begin the next line, signs end the last one.
    bool isSign = after.role == Role::Binary && !after.token.is(TokenKind::KwAnd) && !after.token.is(TokenKind::KwOr);
    bool afterWord = before.token.is(TokenKind::KwAnd) || before.token.is(TokenKind::KwOr);
    if (mayBreak && !isSign && !afterWord)
      opportunities.push_back({i, tightness(before, after), text.size(), state});
    if (spaceBetween(before, after)) {
      text += ' ';
      ++state.column;
    }
  }

  void put(const Element &element) {
    const Token &token = element.token;
    if (element.role == Role::WhereClause) {
      state.inWhere = true;
      state.whereStartsLine = state.lineIsEmpty;
    }
    text += token.text;
    state.column += width(token.text);
    state.lineEndsInComment = element.isComment;
    state.lineIsEmpty = false;
    if (opensBracket(element))
      state.brackets.push_back(state.column);
    if (closesBracket(element) && !state.brackets.empty())
      state.brackets.pop_back();
    bool isTune = elements[first].token.is(TokenKind::KwTune);
    if (element.role == Role::Assign && state.brackets.empty() && state.valueColumn == 0 && !isTune)
      state.valueColumn = state.column + 1;
  }

  /// Outer places are looser than inner ones; among operators, those that bind last.
  static unsigned tightness(const Element &before, const Element &after) {
    return 16 * after.depth + (before.role == Role::Binary ? bindingStrength(before.token.kind) : 0);
  }

  /// Breaks the line at the loosest of its opportunities, the last of these; `i` becomes the element after the break.
  bool breakEarlier(size_t &i) {
    const Opportunity *best = nullptr;
    for (const Opportunity &other : opportunities)
      if (!best || other.tightness <= best->tightness)
        best = &other;
    if (!best) {
      tooLong = true;
      return false;
    }
    i = best->element;
    text.resize(best->textSize);
    state = State(best->state);
    newLine(elements[i]);
    return true;
  }

  const std::vector<Element> &elements;
  size_t first, last;
  unsigned indent;
  unsigned plainAlign;
  std::string text;
  State state;
  std::vector<Opportunity> opportunities;
  bool tooLong = false;
};

/// Goes through bodies, item by item.
class FileWriter {
public:
  explicit FileWriter(std::vector<Element> elements) : elements(std::move(elements)), expanded(this->elements.size()) {}

  std::string write() {
    writeBody(0, elements.size(), 0, false);
    if (!text.empty())
      text += '\n';
    return std::move(text);
  }

private:
  unsigned column() const { return width(std::string_view(text).substr(text.rfind('\n') + 1)); }

  void newLine(unsigned indent) {
    if (!text.empty())
      text += '\n';
    text += std::string(indent, ' ');
  }

  /// The items between two braces. `onePerLine`: the author had several on a line, which did not fit.
  void writeBody(size_t first, size_t last, unsigned indent, bool onePerLine) {
    for (size_t i = first; i < last;) {
      const Element &element = elements[i];
      if (element.isComment && !element.startsLine && !text.empty()) {
        unsigned end = column();
        text += std::string(std::max(element.column, end + 1) - end, ' ') + std::string(element.token.text);
        ++i;
        continue;
      }
      bool afterComment = i > 0 && elements[i - 1].isComment;
      bool startsLine = i == first || element.startsLine || onePerLine || afterComment;
      if (i > first && element.newlinesBefore > 1)
        text += '\n';
      i = element.isComment ? writeComment(i, indent) : writeItem(i, last, indent, startsLine);
    }
  }

  size_t writeComment(size_t i, unsigned indent) {
    newLine(indent);
    text += elements[i].token.text;
    return i + 1;
  }

  /// One past the element that ends the item at `i`: its `;`, the `{` of a body that does not stand on one line, or the
  /// `}` of the last that does.
  size_t itemEnd(size_t i, size_t last) const {
    for (; i < last; ++i) {
      const Element &element = elements[i];
      if (element.isComment)
        continue;
      if (element.token.is(TokenKind::Semicolon))
        return i + 1;
      if (element.role != Role::BlockOpen)
        continue;
      if (!element.oneLine || expanded[i])
        return i + 1;
      i = element.match;
      bool goesOn = i + 1 < last && !elements[i + 1].isComment && elements[i + 1].token.is(TokenKind::KwElse);
      if (!goesOn)
        return i + 1;
    }
    return last;
  }

  /// The first body of the item that stands on one line, or `end`.
  size_t firstOneLineBody(size_t i, size_t end) const {
    while (i < end && !(elements[i].role == Role::BlockOpen && elements[i].oneLine && !expanded[i]))
      ++i;
    return i;
  }

  size_t writeItem(size_t i, size_t last, unsigned indent, bool startsLine) {
    size_t end = itemEnd(i, last);
    if (!startsLine) {
      ItemWriter writer(elements, i, end, indent, column() + 1);
      std::string item = writer.write();
      if (!writer.isTooLong() && item.find('\n') == std::string::npos) {
        text += " " + item;
        return finishItem(i, end, last, indent);
      }
    }
    newLine(indent);
    return writeOnNewLine(i, last, indent);
  }

  /// Sets the item where the line has its indentation, or `} ` before an `else`.
  size_t writeOnNewLine(size_t i, size_t last, unsigned indent) {
    while (true) {
      size_t end = itemEnd(i, last);
      size_t body = firstOneLineBody(i, end);
      ItemWriter writer(elements, i, end, indent, column());
      std::string item = writer.write();
      // A body stays on one line if that line is its header's last as well.
      bool spills = body < end && (writer.isTooLong() || numLines(item) > numLines(i, body + 1, indent));
      if (spills) {
        expanded[body] = true;
        continue;
      }
      text += item;
      return finishItem(i, end, last, indent);
    }
  }

  static size_t numLines(const std::string &item) { return std::count(item.begin(), item.end(), '\n'); }
  size_t numLines(size_t first, size_t last, unsigned indent) const {
    return numLines(ItemWriter(elements, first, last, indent, column()).write());
  }

  /// After a `{` that opens a body on several lines: the body, `}` and what follows it.
  size_t finishItem(size_t first, size_t end, size_t last, unsigned indent) {
    const Element &opening = elements[end - 1];
    if (opening.role != Role::BlockOpen)
      return end;
    // The settings of a case or a schedule fill lines, statements get one each.
    std::string_view word = elements[first].token.text;
    bool fills = word == "case" || word == "bench" || word == "schedule";
    writeBody(end, opening.match, indent + indentStep, expanded[end - 1] && !fills);
    newLine(indent);
    text += '}';
    size_t next = opening.match + 1;
    if (next >= last || elements[next].isComment || !elements[next].token.is(TokenKind::KwElse))
      return next;
    text += ' ';
    return writeOnNewLine(next, last, indent);
  }

  std::vector<Element> elements;
  std::vector<bool> expanded; ///< bodies that stood on one line and no longer fit there
  std::string text;
};

/// Whether two texts have the same tokens and comments.
bool sameElements(const std::vector<Element> &before, const std::vector<Element> &after) {
  return std::equal(before.begin(), before.end(), after.begin(), after.end(), [](const Element &a, const Element &b) {
    return a.isComment == b.isComment && a.token.text == b.token.text;
  });
}

} // namespace
} // namespace formatter

std::optional<std::string> format(uint32_t buffer, DiagnosticEngine &diagnostics) {
  size_t errorsBefore = diagnostics.numErrors();
  parse(buffer, diagnostics);
  if (diagnostics.numErrors() != errorsBefore)
    return std::nullopt;
  std::vector<formatter::Element> elements = formatter::readElements(buffer, diagnostics);
  std::string text = formatter::FileWriter(elements).write();

  SourceManager check;
  DiagnosticEngine checkDiagnostics(check);
  if (!formatter::sameElements(elements, formatter::readElements(check.addBuffer("formatted", text), checkDiagnostics)))
    throw std::logic_error("the formatter would have changed the program");
  return text;
}

} // namespace tkc
