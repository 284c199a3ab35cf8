// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpp/Identifiers.h"

#include <algorithm>
#include <cctype>

namespace tkc::cpp {

namespace {

bool isOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Calls `visit(begin, end)` for each name that the text mentions.
template <class Visit> void eachIdentifier(std::string_view text, const Visit &visit) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        at += text[at] == '\\';
      ++at;
      continue;
    }
    if (!isOfName(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && isOfName(text[end]))
      ++end;
    const bool isNumber = std::isdigit(static_cast<unsigned char>(text[at]));
    const bool isMember =
        at > 0 && (text[at - 1] == '.' || text.substr(0, at).ends_with("->") || text.substr(0, at).ends_with("::"));
    if (!isNumber && !isMember)
      visit(at, end);
    at = end;
  }
}

/// Where the template arguments begin that end before `end`, or `end`.
size_t beforeTemplateArguments(std::string_view text, size_t end) {
  if (end == 0 || text[end - 1] != '>')
    return end;
  size_t begin = end;
  for (int depth = 0; begin-- > 0;) {
    depth += text[begin] == '>' ? 1 : text[begin] == '<' ? -1 : 0;
    if (depth == 0)
      return begin;
  }
  return end;
}

std::string renamed(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t copied = 0;
  eachIdentifier(text, [&](size_t begin, size_t end) {
    if (text.substr(begin, end - begin) != from)
      return;
    out += text.substr(copied, begin - copied);
    out += to;
    copied = end;
  });
  return out += text.substr(copied);
}

Expr renamed(const Expr &expr, std::string_view from, std::string_view to) {
  if (!expr)
    return expr;
  auto node = std::make_shared<ExprNode>(*expr);
  if (node->kind != ExprNode::Member)
    node->text = renamed(node->text, from, to);
  for (Expr &child : node->children)
    child = renamed(child, from, to);
  return Expr(std::move(node));
}

} // namespace

void addIdentifiers(std::string_view text, Identifiers &names) {
  eachIdentifier(text, [&](size_t begin, size_t end) { names.emplace(text.substr(begin, end - begin)); });
}

void addIdentifiers(const Expr &expr, Identifiers &names) {
  if (expr->kind != ExprNode::Member)
    addIdentifiers(expr->text, names);
  for (const Expr &child : expr->children)
    addIdentifiers(child, names);
}

Identifiers calleesOf(std::string_view text) {
  Identifiers callees;
  for (size_t at = text.find('('); at != std::string_view::npos; at = text.find('(', at + 1)) {
    const size_t end = beforeTemplateArguments(text, at);
    size_t begin = end;
    while (begin > 0 && (isOfName(text[begin - 1]) || text[begin - 1] == ':'))
      --begin;
    if (begin < end)
      callees.emplace(text.substr(begin, end - begin));
  }
  return callees;
}

void rename(Body &body, std::string_view from, std::string_view to) {
  for (Stmt &stmt : body) {
    if (stmt.kind == Stmt::Comment)
      continue;
    stmt.text = renamed(stmt.text, from, to);
    stmt.expr = renamed(stmt.expr, from, to);
    if (stmt.kind == Stmt::Declaration && stmt.name == from)
      return;
    rename(stmt.body, from, to);
    rename(stmt.orElse, from, to);
  }
}

} // namespace tkc::cpp
