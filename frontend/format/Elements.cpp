// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/format/Elements.h"

#include "support/Diagnostics.h"

#include <algorithm>

namespace tkc::formatter {
namespace {

unsigned countNewlines(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

/// Characters of UTF-8 text.
unsigned countCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::vector<Element> lexAll(uint32_t buffer, DiagnosticEngine &diagnostics) {
  Lexer lexer(buffer, diagnostics);
  std::string_view text = diagnostics.sourceManager().text(buffer);
  std::vector<Element> elements;
  size_t numComments = 0;
  auto add = [&](Element element) {
    size_t begin = element.token.range.begin.offset;
    size_t previousEnd = elements.empty() ? 0 : elements.back().token.range.end.offset;
    element.newlinesBefore = countNewlines(text.substr(previousEnd, begin - previousEnd));
    if (element.isComment) {
      size_t lineBegin = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1; // npos + 1 is 0
      element.column = countCharacters(text.substr(lineBegin, begin - lineBegin));
    }
    elements.push_back(element);
  };
  while (true) {
    Token token = lexer.next();
    for (; numComments < token.commentsSeen; ++numComments) {
      const ast::Comment &comment = lexer.comments()[numComments];
      Element element;
      element.isComment = true;
      element.startsLine = comment.ownLine;
      element.token.range = comment.range;
      element.token.text = diagnostics.sourceManager().text(comment.range);
      add(element);
    }
    if (token.is(TokenKind::EndOfFile))
      return elements;
    Element element;
    element.token = token;
    element.startsLine = token.startsLine;
    add(element);
  }
}

bool isKeyword(const Token &token) {
  if (token.is(TokenKind::Identifier))
    return token.text == "then" || token.text == "when";
  return !token.text.empty() && token.kind >= TokenKind::KwKernel && token.kind <= TokenKind::KwReturn;
}

/// Whether an operand ends here, so that what follows is an operator between operands.
bool endsOperand(const Element &element) {
  switch (element.token.kind) {
  case TokenKind::Identifier:
    return element.role != Role::Word;
  case TokenKind::Integer:
  case TokenKind::Float:
  case TokenKind::String:
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
  case TokenKind::KwTrue:
  case TokenKind::KwFalse:
  case TokenKind::KwNone:
    return true;
  default: // operators, keywords, openings
    return false;
  }
}

bool isOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::Plus:
  case TokenKind::Minus:
  case TokenKind::Star:
  case TokenKind::Slash:
  case TokenKind::Percent:
  case TokenKind::At:
  case TokenKind::Ampersand:
  case TokenKind::Caret:
  case TokenKind::Pipe:
  case TokenKind::Tilde:
  case TokenKind::ShiftLeft:
  case TokenKind::ShiftRight:
  case TokenKind::EqualEqual:
  case TokenKind::NotEqual:
  case TokenKind::Less:
  case TokenKind::LessEqual:
  case TokenKind::Greater:
  case TokenKind::GreaterEqual:
  case TokenKind::KwAnd:
  case TokenKind::KwOr:
    return true;
  default: // not between operands
    return false;
  }
}

} // namespace

unsigned bindingStrength(TokenKind kind) {
  switch (kind) {
  case TokenKind::At:
  case TokenKind::Star:
  case TokenKind::Slash:
  case TokenKind::Percent:
    return 7;
  case TokenKind::Plus:
  case TokenKind::Minus:
    return 6;
  case TokenKind::ShiftLeft:
  case TokenKind::ShiftRight:
    return 5;
  case TokenKind::Ampersand:
    return 4;
  case TokenKind::Caret:
    return 3;
  case TokenKind::Pipe:
    return 2;
  default: // comparisons
    return 1;
  }
}

namespace {

bool isAssignment(TokenKind kind) {
  return kind == TokenKind::Equal || kind == TokenKind::PlusEqual || kind == TokenKind::MinusEqual ||
         kind == TokenKind::StarEqual || kind == TokenKind::SlashEqual;
}

/// Gives every token its role, going through them with a stack of what is open.
class RoleFinder {
public:
  explicit RoleFinder(std::vector<Element> &elements) : elements(elements) {}

  void run() {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].isComment) {
        elements[i].depth = depth;
        continue;
      }
      visit(i);
      beforePrevious = previous;
      previous = &elements[i];
    }
  }

private:
  void visit(size_t i) {
    Element &element = elements[i];
    element.role = roleOf(i);
    bool opens = opensBracket(element);
    bool closes = closesBracket(element);
    if (closes && depth > 0)
      --depth;
    element.depth = depth;
    if (opens)
      ++depth;
    if (opens || element.role == Role::BlockOpen)
      open.push_back(i);
    if (element.role == Role::BlockClose && !open.empty())
      closeBlock(open.back(), i);
    if ((closes || element.role == Role::BlockClose) && !open.empty())
      open.pop_back();
  }

  void closeBlock(size_t opening, size_t closing) {
    Element &element = elements[opening];
    element.match = closing;
    element.oneLine = std::none_of(elements.begin() + opening + 1, elements.begin() + closing + 1,
                                   [](const Element &inner) { return inner.isComment || inner.newlinesBefore > 0; });
  }

  Role openRole() const { return open.empty() ? Role::Plain : elements[open.back()].role; }
  bool inBrackets() const { return !open.empty() && elements[open.back()].token.is(TokenKind::LeftBracket); }
  bool previousIs(TokenKind kind) const { return previous && previous->token.is(kind); }

  Role roleOf(size_t i) const {
    const Token &token = elements[i].token;
    switch (token.kind) {
    case TokenKind::LeftBrace:
      return previousIs(TokenKind::KwIn) || previousIs(TokenKind::Colon) ? Role::SetOpen : Role::BlockOpen;
    case TokenKind::RightBrace:
      return openRole() == Role::SetOpen ? Role::SetClose : Role::BlockClose;
    case TokenKind::Colon:
      return inBrackets() ? Role::SliceColon : Role::TypeColon;
    case TokenKind::KwWhere:
      return previousIs(TokenKind::RightParen) ? Role::WhereClause : Role::Plain;
    case TokenKind::KwNot:
      return Role::Word;
    default: // told by their neighbours
      break;
    }
    if (token.is(TokenKind::Less) && previousIs(TokenKind::Identifier) && beforePrevious &&
        (beforePrevious->token.is(TokenKind::KwKernel) || beforePrevious->token.text == "program"))
      return Role::GenericOpen;
    if (token.is(TokenKind::Greater) && openRole() == Role::GenericOpen)
      return Role::GenericClose;
    if (isAssignment(token.kind))
      return Role::Assign;
    if (isOperator(token.kind))
      return previous && endsOperand(*previous) ? Role::Binary : Role::Unary;
    bool isAtomicWord = (token.text == "max" || token.text == "min") && previous && endsOperand(*previous) &&
                        i + 1 < elements.size() && elements[i + 1].token.is(TokenKind::Equal);
    if (isAtomicWord)
      return Role::AtomicWord;
    // Nothing else stands behind an operand.
    const bool isCost = token.text == "cost" && previous && endsOperand(*previous);
    return isKeyword(token) || isCost ? Role::Word : Role::Plain;
  }

  std::vector<Element> &elements;
  std::vector<size_t> open;
  unsigned depth = 0;
  const Element *previous = nullptr;
  const Element *beforePrevious = nullptr;
};

} // namespace

std::vector<Element> readElements(uint32_t buffer, DiagnosticEngine &diagnostics) {
  std::vector<Element> elements = lexAll(buffer, diagnostics);
  RoleFinder(elements).run();
  return elements;
}

bool opensBracket(const Element &element) {
  return element.token.is(TokenKind::LeftParen) || element.token.is(TokenKind::LeftBracket) ||
         element.role == Role::SetOpen || element.role == Role::GenericOpen;
}

bool closesBracket(const Element &element) {
  return element.token.is(TokenKind::RightParen) || element.token.is(TokenKind::RightBracket) ||
         element.role == Role::SetClose || element.role == Role::GenericClose;
}

bool spaceBetween(const Element &before, const Element &after) {
  const Token &left = before.token;
  const Token &right = after.token;
  if (before.role == Role::BlockOpen && after.role == Role::BlockClose)
    return false; // `{}`
  if (before.role == Role::AtomicWord)
    return false;
  switch (right.kind) {
  case TokenKind::Comma:
  case TokenKind::Semicolon:
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
  case TokenKind::Dot:
  case TokenKind::DotDot:
  case TokenKind::Colon:
    return right.is(TokenKind::Colon) && left.is(TokenKind::Comma); // `x[i, :]`
  default:                                                          // told by the roles
    break;
  }
  if (after.role == Role::SetClose || after.role == Role::GenericClose || after.role == Role::GenericOpen)
    return false;
  if (left.is(TokenKind::LeftParen) || left.is(TokenKind::LeftBracket) || left.is(TokenKind::Dot) ||
      left.is(TokenKind::DotDot))
    return false;
  if (before.role == Role::SetOpen || before.role == Role::GenericOpen || before.role == Role::Unary ||
      before.role == Role::SliceColon)
    return false;
  if (right.is(TokenKind::LeftParen) || right.is(TokenKind::LeftBracket)) {
    bool isFunctionWhere = left.is(TokenKind::KwWhere) && before.role == Role::Plain;
    return !(endsOperand(before) || isFunctionWhere || before.role == Role::GenericClose);
  }
  return true;
}

bool mayBreakBetween(const Element &before, const Element &after) {
  if (after.isComment || before.isComment)
    return true;
  if (before.token.is(TokenKind::Comma) || after.role == Role::WhereClause)
    return true;
  bool isElse = after.token.is(TokenKind::KwElse) || after.token.text == "then" || after.token.text == "when";
  bool isCost = after.token.text == "cost" && after.role == Role::Word;
  return isElse || isCost || before.role == Role::Binary || after.role == Role::Binary;
}

} // namespace tkc::formatter
