// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the formatter lays out: tokens and comments in order, with what it has to know of each.
#pragma once

#include "frontend/Lexer.h"

#include <vector>

namespace tkc::formatter {

/// What a token does where its text alone does not say it.
enum class Role : uint8_t {
  Plain,
  Word,       ///< a keyword, contextual ones included
  Binary,     ///< an operator between two operands
  Unary,      ///< a sign before its operand
  Assign,     ///< `=`, `+=`, `max=`'s second half, …
  AtomicWord, ///< the `max` of `max=`
  BlockOpen,  ///< the brace of a body
  BlockClose,
  SetOpen, ///< the brace of `{64, 128}`
  SetClose,
  GenericOpen, ///< the angles of `<T: {bf16}>`
  GenericClose,
  SliceColon,  ///< `lo:hi`
  TypeColon,   ///< `a: f32`
  WhereClause, ///< not the function
};

struct Element {
  bool isComment = false;
  Token token; ///< kind means nothing for a comment
  Role role = Role::Plain;
  bool startsLine = false;
  unsigned newlinesBefore = 0;
  unsigned column = 0;  ///< of a comment in the source, from 0, in characters
  unsigned depth = 0;   ///< brackets open around it, braces of bodies not counted
  size_t match = 0;     ///< of a BlockOpen: its BlockClose
  bool oneLine = false; ///< of a BlockOpen: the block stands on one line without comments
};

/// The buffer must have no syntax errors.
std::vector<Element> readElements(uint32_t buffer, DiagnosticEngine &diagnostics);

/// Any bracket but the braces of a body.
bool opensBracket(const Element &element);
bool closesBracket(const Element &element);

/// How tightly an arithmetic operator or comparison binds, from 1.
unsigned bindingStrength(TokenKind kind);

bool spaceBetween(const Element &before, const Element &after);
/// Whether a line may break between the two.
bool mayBreakBetween(const Element &before, const Element &after);

} // namespace tkc::formatter
