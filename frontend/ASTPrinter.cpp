// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/ASTPrinter.h"

#include <fmt/core.h>
#include <llvm/Support/Casting.h>

namespace tkc {

using namespace ast;
using llvm::cast;

namespace {

/// `show(element)` of each, with commas.
template <class List, class Show> std::string join(const List &list, Show show) {
  std::string text;
  for (const auto &element : list) {
    if (!text.empty())
      text += ", ";
    text += show(element);
  }
  return text;
}

std::string exprs(const std::vector<Expr *> &list) {
  return join(list, [](const Expr *expr) { return dump(expr); });
}
std::string names(const std::vector<Identifier> &list) {
  return join(list, [](const Identifier &name) { return name.text; });
}

std::string binder(const IndexBinder &binder) {
  if (!binder.lo)
    return binder.name.text;
  return fmt::format("{} in {}..{}", binder.name.text, dump(binder.lo), dump(binder.hi));
}
std::string binders(const std::vector<IndexBinder> &list) { return join(list, binder); }

std::string subscript(const Subscript &subscript) {
  switch (subscript.kind) {
  case Subscript::Element:
    return dump(subscript.first);
  case Subscript::All:
    return ":";
  case Subscript::Span:
    return fmt::format("{}:{}", dump(subscript.first), dump(subscript.second));
  }
  __builtin_unreachable();
}

std::string call(const CallExpr &call) {
  return fmt::format("{}({})", dump(call.callee), join(call.args, [](const Argument &argument) {
                       std::string value = dump(argument.value);
                       return argument.name.text.empty() ? value : argument.name.text + " = " + value;
                     }));
}

std::string newTensor(const NewExpr &expr) {
  std::string fill = expr.fill ? " = " + dump(expr.fill) : "";
  return fmt::format("new {}[{}]{}", expr.type.text, exprs(expr.dims), fill);
}

std::string param(const Param &param) {
  std::string text = param.isConst ? "const " : "";
  text += param.mode == ParamMode::Out ? "out " : param.mode == ParamMode::InOut ? "inout " : "";
  text += param.name.text + ": " + param.type.text;
  if (param.isTensor)
    text += "[" + exprs(param.dims) + "]";
  if (param.defaultValue)
    text += " = " + dump(param.defaultValue);
  return text;
}

std::string equation(const Equation &equation) {
  std::string indices = equation.indices.empty() ? "" : "[" + binders(equation.indices) + "]";
  return fmt::format("{}{} = {}", equation.name.text, indices, dump(equation.value));
}

class Dumper {
public:
  std::string text;

  void decl(const Decl &decl) {
    size_t begin = 0;
    while (!decl.doc.empty() && begin <= decl.doc.size()) {
      size_t end = std::min(decl.doc.find('\n', begin), decl.doc.size());
      line("/// " + decl.doc.substr(begin, end - begin));
      begin = end + 1;
    }
    switch (decl.kind) {
    case DeclKind::Import:
      return line(fmt::format("import \"{}\"", cast<ImportDecl>(decl).path));
    case DeclKind::Kernel:
      return callable("kernel", cast<KernelDecl>(decl));
    case DeclKind::Program:
      return callable("program", cast<ProgramDecl>(decl));
    case DeclKind::Fn:
      line(fmt::format("fn {}({})", decl.name.text, names(cast<FnDecl>(decl).params)));
      return block(cast<FnDecl>(decl).body);
    case DeclKind::ExternFn:
      return externFn(cast<ExternFnDecl>(decl));
    case DeclKind::Reference:
      return equations("reference", decl, cast<ReferenceDecl>(decl).equations);
    case DeclKind::Case:
      return equations(cast<CaseDecl>(decl).isBench ? "bench" : "case", decl, cast<CaseDecl>(decl).settings);
    case DeclKind::Schedule:
      return schedule(cast<ScheduleDecl>(decl));
    case DeclKind::Gradient:
      return gradient(cast<GradientDecl>(decl));
    }
    __builtin_unreachable();
  }

private:
  void line(const std::string &content) { text += std::string(2 * level, ' ') + content + "\n"; }

  void block(const BlockStmt *block) {
    ++level;
    for (const Stmt *stmt : block->stmts)
      statement(*stmt);
    --level;
  }

  template <class Node> void callable(const char *keyword, const Node &node) {
    line(fmt::format("{} {}", keyword, node.name.text));
    ++level;
    for (const TypeParam &type : node.typeParams)
      line(fmt::format("type {}: {}", type.name.text, names(type.choices)));
    for (const Param &each : node.params)
      line("param " + param(each));
    for (const auto &[name, choices] : node.whereIn)
      line(fmt::format("where {} in {}", name.text, exprs(choices)));
    for (const Expr *condition : node.where)
      line("where " + dump(condition));
    --level;
    block(node.body);
  }

  void externFn(const ExternFnDecl &decl) {
    line(fmt::format("extern {} \"{}\" fn {}({}) -> {}", decl.language.text, decl.header, decl.name.text,
                     join(decl.params, param), decl.resultType.text));
  }

  void equations(const char *keyword, const Decl &decl, const std::vector<Equation> &list) {
    line(fmt::format("{} {}", keyword, decl.name.text));
    ++level;
    for (const Equation &each : list)
      line(equation(each));
    --level;
  }

  void schedule(const ScheduleDecl &decl) {
    std::string when = decl.when ? " when " + dump(decl.when) : "";
    std::string cost = decl.cost ? " cost " + dump(decl.cost) : "";
    line(fmt::format("schedule {} for {}{}{}", decl.name.text, decl.arch.text, when, cost));
    ++level;
    for (const auto &[key, value] : decl.settings)
      line(fmt::format("{} = {}", key.text, dump(value)));
    --level;
  }

  void gradient(const GradientDecl &decl) {
    std::string when = decl.when ? " when " + dump(decl.when) : "";
    line(fmt::format("gradient {} = {}{}", decl.name.text, dump(decl.call), when));
  }

  static std::string binding(const Binding &binding) {
    return fmt::format("{} in {}", binding.name.text, dump(binding.range));
  }

  void statement(const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Error:
      return line("error");
    case StmtKind::Block:
      line("block");
      return block(cast<BlockStmt>(&stmt));
    case StmtKind::Tune:
      return line("tune " + join(cast<TuneStmt>(&stmt)->values,
                                 [](const auto &value) { return value.first.text + " = " + dump(value.second); }));
    case StmtKind::Parallel:
      line("parallel " + join(cast<ParallelStmt>(&stmt)->bindings, binding));
      return block(cast<ParallelStmt>(&stmt)->body);
    case StmtKind::For:
      line("for " + binding(cast<ForStmt>(&stmt)->binding));
      return block(cast<ForStmt>(&stmt)->body);
    case StmtKind::If:
      return ifStmt(*cast<IfStmt>(&stmt), "if");
    case StmtKind::Let:
      return line(fmt::format("let {} = {}", names(cast<LetStmt>(&stmt)->names), dump(cast<LetStmt>(&stmt)->value)));
    case StmtKind::Var:
      return line(fmt::format("var {} = {}", names(cast<VarStmt>(&stmt)->names), dump(cast<VarStmt>(&stmt)->value)));
    case StmtKind::Assign: {
      auto *assign = cast<AssignStmt>(&stmt);
      return line(fmt::format("{} {} {}", dump(assign->target), spelling(assign->op), dump(assign->value)));
    }
    case StmtKind::Return:
      return line("return " + exprs(cast<ReturnStmt>(&stmt)->values));
    case StmtKind::Expr:
      return line(dump(cast<ExprStmt>(&stmt)->expr));
    }
    __builtin_unreachable();
  }

  void ifStmt(const IfStmt &stmt, const char *keyword) {
    line(fmt::format("{} {}", keyword, dump(stmt.condition)));
    block(stmt.thenBlock);
    if (!stmt.elseStmt)
      return;
    if (auto *chained = llvm::dyn_cast<IfStmt>(stmt.elseStmt))
      return ifStmt(*chained, "else if");
    line("else");
    block(cast<BlockStmt>(stmt.elseStmt));
  }

  size_t level = 0;
};

} // namespace

std::string dump(const Expr *expr) {
  switch (expr->kind) {
  case ExprKind::Error:
    return "<error>";
  case ExprKind::Number: {
    auto *number = cast<NumberExpr>(expr);
    return number->isFloat ? fmt::format("{:#}", number->value)
                           : fmt::format("{}", static_cast<uint64_t>(number->integer));
  }
  case ExprKind::Bool:
    return cast<BoolExpr>(expr)->value ? "true" : "false";
  case ExprKind::String:
    return fmt::format("\"{}\"", cast<StringExpr>(expr)->value);
  case ExprKind::None:
    return "none";
  case ExprKind::Name:
    return cast<NameExpr>(expr)->name;
  case ExprKind::Unary: {
    auto *unary = cast<UnaryExpr>(expr);
    return fmt::format("({}{}{})", spelling(unary->op), unary->op == UnaryOp::Not ? " " : "", dump(unary->operand));
  }
  case ExprKind::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    return fmt::format("({} {} {})", dump(binary->lhs), spelling(binary->op), dump(binary->rhs));
  }
  case ExprKind::Call:
    return call(*cast<CallExpr>(expr));
  case ExprKind::Index:
    return fmt::format("{}[{}]", dump(cast<IndexExpr>(expr)->base), join(cast<IndexExpr>(expr)->subscripts, subscript));
  case ExprKind::Member:
    return fmt::format("{}.{}", dump(cast<MemberExpr>(expr)->base), cast<MemberExpr>(expr)->member.text);
  case ExprKind::Else:
    return fmt::format("({} else {})", dump(cast<ElseExpr>(expr)->slice), dump(cast<ElseExpr>(expr)->otherwise));
  case ExprKind::If: {
    auto *choice = cast<IfExpr>(expr);
    return fmt::format("(if {} then {} else {})", dump(choice->condition), dump(choice->thenValue),
                       dump(choice->elseValue));
  }
  case ExprKind::Reduction: {
    auto *reduction = cast<ReductionExpr>(expr);
    return fmt::format("{}({}: {})", reduction->op.text, binders(reduction->binders), dump(reduction->body));
  }
  case ExprKind::New:
    return newTensor(*cast<NewExpr>(expr));
  case ExprKind::List:
    return fmt::format("[{}]", exprs(cast<ListExpr>(expr)->elements));
  case ExprKind::Range:
    return fmt::format("{}..{}", dump(cast<RangeExpr>(expr)->lo), dump(cast<RangeExpr>(expr)->hi));
  }
  __builtin_unreachable();
}

std::string dump(const File &file) {
  Dumper dumper;
  for (const Decl *decl : file.decls)
    dumper.decl(*decl);
  return dumper.text;
}

} // namespace tkc
