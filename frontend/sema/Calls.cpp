// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls: a table of what the language has, casts, and the user's own functions.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/PlaceArgs.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <cctype>

namespace tkc::sema {

const std::vector<Elaborator::BuiltIn> &Elaborator::builtIns() {
  static const std::vector<BuiltIn> table = [] {
    std::vector<BuiltIn> rows{
        {"abs", {"x"}, &Elaborator::absolute},
        {"zeros", {"rows", "cols"}, &Elaborator::zeros},
        {"full", {"rows", "cols", "x"}, &Elaborator::full},
        {"iota", {"rows", "cols"}, &Elaborator::iota},
        {"where", {"condition", "x", "y"}, &Elaborator::where},
        {"min", {}, &Elaborator::minMaxCall},
        {"max", {}, &Elaborator::minMaxCall},
        {"philox", {"seed", "i", "j"}, &Elaborator::philox},
        {"scaled", {"x", "scales"}, &Elaborator::scaled},
        {"cumsum", {"x", "axis"}, &Elaborator::cumsum},
    };
    for (std::string_view name :
         {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "rcp", "tanh", "sin", "cos", "erf", "sigmoid", "floor"})
      rows.push_back({name, {"x"}, &Elaborator::unaryFunction});
    for (std::string_view name : {"rowmax", "rowsum", "rowmin", "rowprod", "rowmean", "rowargmax", "rowargmin",
                                  "colmax", "colsum", "colmin", "colprod", "colmean", "colargmax", "colargmin"})
      rows.push_back({name, {"x"}, &Elaborator::reduction});
    return rows;
  }();
  return table;
}

std::vector<std::string> Elaborator::functionNames() const {
  std::vector<std::string> names;
  for (const BuiltIn &builtIn : builtIns())
    names.emplace_back(builtIn.name);
  for (auto &entry : module.functions)
    names.push_back(entry.first);
  for (auto &entry : module.externs)
    names.push_back(entry.first);
  return names;
}

bool Elaborator::isKnownFunction(const ast::CallExpr &call) const {
  auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  std::vector<std::string> names = functionNames();
  return callee && std::find(names.begin(), names.end(), callee->name) != names.end();
}

Val Elaborator::call(const ast::CallExpr &expr) {
  auto *callee = llvm::dyn_cast<ast::NameExpr>(expr.callee);
  if (!callee) {
    if (!llvm::isa<ast::ErrorExpr>(expr.callee) && !reportForeignCall(reporter, expr))
      error(Diag::not_callable, expr.callee->range);
    return Val::error();
  }
  const std::string &name = callee->name;
  // The user's functions come first, so that a file may define a `gelu` of its own whatever tkc learns later.
  if (auto fn = module.functions.find(name); fn != module.functions.end())
    return callFunction(*fn->second, expr);
  if (auto fn = module.externs.find(name); fn != module.externs.end())
    return callExtern(*fn->second, expr);
  for (const BuiltIn &builtIn : builtIns())
    if (builtIn.name == name)
      return callBuiltIn(builtIn, expr);
  if (std::optional<ElemType> type = findType(name)) {
    std::optional<std::vector<const ast::Expr *>> args = placeArgs(expr, {"x"}, name);
    if (!args)
      return Val::error();
    Val val = this->expr(args->front());
    builder.setLoc(expr.range.begin);
    return val.isError() ? val : cast(*type, val, args->front()->range);
  }
  if (name == "tiles")
    error(Diag::range_expression, expr.range);
  else if (module.findKernel(name))
    error(Diag::calls_kernel, callee->range, name, "kernel", "a caller or a program");
  else if (module.findProgram(name))
    error(Diag::calls_kernel, callee->range, name, "program", "a caller");
  else if (!reportForeignCall(reporter, expr))
    reportUnknown(reporter, "function", name, callee->range, functionNames());
  return Val::error();
}

std::optional<std::vector<const ast::Expr *>>
Elaborator::placeArgs(const ast::CallExpr &expr, const std::vector<std::string_view> &params, std::string_view name) {
  const auto tell = [&](Diag id, SourceRange where, const auto &...args) { error(id, where, args...); };
  const std::optional<std::vector<ast::Expr *>> placed = sema::placeArgs(expr, params, name, reporter, tell);
  if (!placed)
    return std::nullopt;
  return std::vector<const ast::Expr *>(placed->begin(), placed->end());
}

Val Elaborator::callBuiltIn(const BuiltIn &builtIn, const ast::CallExpr &expr) {
  Args args{builtIn.name, expr.range, {}, {}};
  std::vector<const ast::Expr *> placed;
  if (builtIn.params.empty()) {
    for (const ast::Argument &arg : expr.args)
      placed.push_back(arg.value);
    if (placed.size() < 2) {
      if (!reportForeignCall(reporter, expr))
        error(Diag::too_few_arguments, expr.range, builtIn.name);
      return Val::error();
    }
  } else {
    std::optional<std::vector<const ast::Expr *>> found = placeArgs(expr, builtIn.params, builtIn.name);
    if (!found)
      return Val::error();
    placed = *found;
  }
  bool failed = false;
  for (const ast::Expr *arg : placed) {
    args.vals.push_back(this->expr(arg));
    args.ranges.push_back(arg->range);
    failed = failed || args.vals.back().isError() || !isOperand(args.vals.back(), arg->range);
  }
  builder.setLoc(expr.range.begin);
  return failed ? Val::error() : (this->*builtIn.handler)(args);
}

// ---- element-wise --------------------------------------------------------------------------------------------------

Val Elaborator::absolute(const Args &args) {
  const Val &x = args.vals[0];
  if (x.isConst())
    return *foldFunction("abs", x);
  ElemType elem = x.type().elem == ElemType::Bool ? ElemType::I32 : arithmeticType(x.type().elem);
  return Val::ofValue(builder.unary(ir::OpKind::Abs, builder.cast(elem, x.value)));
}

Val Elaborator::unaryFunction(const Args &args) {
  const Val &x = args.vals[0];
  if (x.isConst())
    return *foldFunction(args.name, x);
  ElemType elem = x.type().elem == ElemType::F64 ? ElemType::F64 : ElemType::F32;
  return Val::ofValue(builder.unary(*ir::parseOpKind(args.name), builder.cast(elem, x.value)));
}

Val Elaborator::minMaxCall(const Args &args) {
  ir::OpKind kind = args.name == "min" ? ir::OpKind::Min : ir::OpKind::Max;
  Val result = args.vals[0];
  for (size_t i = 1; i < args.vals.size() && !result.isError(); ++i)
    result = minMax(kind, args.name, {result, args.vals[i], args.range, args.ranges[0], args.ranges[i]});
  return result;
}

Val Elaborator::where(const Args &args) {
  const Val &condition = args.vals[0], &x = args.vals[1], &y = args.vals[2];
  if (condition.type().elem != ElemType::Bool) {
    error(Diag::where_condition, args.ranges[0], describe(condition));
    return Val::error();
  }
  if (condition.isConst() && x.isConst() && y.isConst())
    return condition.number != 0 ? x : y;
  // Selection is no arithmetic: two of one type stay what they are, and a literal takes the other's type.
  bool weakX = x.isConst() && x.isWeak, weakY = y.isConst() && y.isWeak;
  ElemType elem = x.type().elem;
  if (weakX && !weakY)
    elem = isFloat(elem) && !isFloat(y.type().elem) ? ElemType::F32 : y.type().elem;
  else if (weakY && !weakX)
    elem = isFloat(y.type().elem) && !isFloat(elem) ? ElemType::F32 : elem;
  else if (elem != y.type().elem)
    elem = ir::joinElemTypes(elem, y.type().elem);
  ir::Value *chosen = toElem(condition, ElemType::Bool, args.ranges[0]);
  ir::Value *xValue = toElem(x, elem, args.ranges[1]), *yValue = toElem(y, elem, args.ranges[2]);
  if (!chosen || !xValue || !yValue)
    return Val::error();
  Operands sides{x, y, args.range, args.ranges[1], args.ranges[2]};
  if (!checkBroadcast(xValue->type, yValue->type, "where", sides))
    return Val::error();
  Operands all{condition, x, args.range, args.ranges[0], args.ranges[1]};
  if (!checkBroadcast(chosen->type, *ir::broadcast(xValue->type, yValue->type), "where", all))
    return Val::error();
  return Val::ofValue(builder.select(chosen, xValue, yValue));
}

Val Elaborator::philox(const Args &args) {
  ir::Value *seed = toInteger(args.vals[0], args.ranges[0], "a seed");
  ir::Value *coordinates[2];
  for (size_t i = 0; i < 2; ++i) {
    if (!isInteger(args.vals[i + 1].type().elem)) {
      error(Diag::not_an_integer, args.ranges[i + 1], "a coordinate", describe(args.vals[i + 1]));
      return Val::error();
    }
    coordinates[i] = toElem(args.vals[i + 1], ElemType::I32, args.ranges[i + 1]);
  }
  if (!seed || !coordinates[0] || !coordinates[1])
    return Val::error();
  Operands operands{args.vals[1], args.vals[2], args.range, args.ranges[1], args.ranges[2]};
  if (!checkBroadcast(coordinates[0]->type, coordinates[1]->type, "philox", operands))
    return Val::error();
  return Val::ofValue(builder.philox(seed, coordinates[0], coordinates[1]));
}

// ---- tiles from nothing --------------------------------------------------------------------------------------------

std::optional<int64_t> Elaborator::tileSize(const Val &val, SourceRange where) {
  if (val.isError())
    return std::nullopt;
  if (!val.isInteger()) {
    error(Diag::not_constant_integer, where, "a tile's size", describe(val));
    return std::nullopt;
  }
  if (val.number < 1 || val.number > 65536) {
    error(Diag::tile_size_range, where, static_cast<int64_t>(val.number));
    return std::nullopt;
  }
  const auto instead = tunes.find(std::string(reporter.diagnostics().sourceManager().text(where)));
  return instead != tunes.end() && std::isdigit(static_cast<unsigned char>(instead->first.front()))
             ? instead->second
             : static_cast<int64_t>(val.number);
}

Val Elaborator::zeros(const Args &args) {
  std::optional<int64_t> rows = tileSize(args.vals[0], args.ranges[0]), cols = tileSize(args.vals[1], args.ranges[1]);
  if (!rows || !cols)
    return Val::error();
  return Val::ofValue(builder.full(builder.constant(ElemType::F32, 0), *rows, *cols));
}

Val Elaborator::full(const Args &args) {
  std::optional<int64_t> rows = tileSize(args.vals[0], args.ranges[0]), cols = tileSize(args.vals[1], args.ranges[1]);
  ir::Value *scalar = toScalar(args.vals[2], args.ranges[2], "what fills a tile");
  return rows && cols && scalar ? Val::ofValue(builder.full(scalar, *rows, *cols)) : Val::error();
}

Val Elaborator::iota(const Args &args) {
  std::optional<int64_t> rows = tileSize(args.vals[0], args.ranges[0]), cols = tileSize(args.vals[1], args.ranges[1]);
  if (!rows || !cols)
    return Val::error();
  if (*rows != 1 && *cols != 1) {
    error(Diag::iota_shape, args.range, *rows, *cols);
    return Val::error();
  }
  return Val::ofValue(builder.iota(*rows, *cols));
}

} // namespace tkc::sema
