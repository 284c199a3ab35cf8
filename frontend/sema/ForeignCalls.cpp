// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as other languages spell them: `relu(x)`, `tl.dot(a, b)`, `x.to(bfloat16)`, `torch.sum(x, dim=1)`. The error
// says how this language does, with the arguments as they stand in the source.
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"
#include "support/ForeignWords.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <array>

namespace tkc::sema {
namespace {

bool isModule(const ast::Expr *expr) {
  static constexpr std::array<std::string_view, 12> names = {"tl", "torch", "jnp",  "np",   "numpy",     "F",
                                                             "nn", "math",  "cute", "warp", "warpgroup", "std"};
  auto *name = llvm::dyn_cast<ast::NameExpr>(expr);
  return name && std::find(names.begin(), names.end(), name->name) != names.end();
}

/// `expr` in the source, and whether an operator may stand beside it.
ForeignArgument textOf(const ast::Expr *expr, const SourceManager &sources) {
  const bool isPlain =
      llvm::isa<ast::NameExpr, ast::NumberExpr, ast::CallExpr, ast::IndexExpr, ast::MemberExpr, ast::BoolExpr>(expr);
  return {std::string(sources.text(expr->range)), isPlain};
}

/// Whether an operator or a member stands next to `range`, so that what replaces it needs parentheses.
bool isOperand(SourceRange range, const SourceManager &sources) {
  std::string_view text = sources.text(range.begin.buffer);
  std::string_view before = text.substr(0, range.begin.offset), after = text.substr(range.end.offset);
  before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
  const size_t next = after.find_first_not_of(" \t\r\n");
  after = next == std::string_view::npos ? "" : after.substr(next);
  const bool opens = before.empty() || std::string_view("([,{;=").find(before.back()) != std::string_view::npos;
  const bool closes = after.empty() || std::string_view(")],};").find(after.front()) != std::string_view::npos;
  return !opens || !closes;
}

/// Whether `text` is one name, call or slice, which operators may stand beside.
bool isPrimary(std::string_view text) {
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c == ' ' && depth == 0)
      return false;
  }
  return true;
}

} // namespace

bool reportForeignCall(Reporter &reporter, const ast::CallExpr &call) {
  const SourceManager &sources = reporter.diagnostics().sourceManager();
  std::vector<ForeignArgument> arguments;
  std::string word;
  if (auto *member = llvm::dyn_cast<ast::MemberExpr>(call.callee)) {
    word = member->member.text;
    if (!isModule(member->base))
      arguments.push_back(textOf(member->base, sources));
  } else if (auto *name = llvm::dyn_cast<ast::NameExpr>(call.callee)) {
    word = name->name;
  }
  for (const ast::Argument &argument : call.args)
    if (!argument.name.text.starts_with("keep")) // keepdims: a reduction keeps both dims here
      arguments.push_back(textOf(argument.value, sources));
  if (std::optional<std::string> here = foreignCall(word, arguments)) {
    if (!isPrimary(*here) && isOperand(call.range, sources))
      here = "(" + *here + ")";
    reporter.error(Diag::foreign_call, call.range, word, *here).fixIt(call.range, *here);
    return true;
  }
  if (std::optional<std::string_view> idea = foreignIdea(word)) {
    reporter.error(Diag::foreign_idea, call.callee->range, word, *idea);
    return true;
  }
  return false;
}

} // namespace tkc::sema
