// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what Printer.cpp writes. The first error of a plan is reported and makes every later parse function a no-op
// that returns something empty, so that none of them checks for failure; parsing goes on with the next `plan`.
#pragma once

#include "ir/plan/Lexer.h"
#include "ir/plan/PlanIR.h"

namespace tkc::plan {

class Parser {
public:
  Parser(uint32_t buffer, DiagnosticEngine &diagnostics);
  std::vector<std::unique_ptr<Plan>> run();

private:
  friend struct PieceParser;

  // ---- tokens
  void advance();
  void fail(std::string_view what);
  bool at(std::string_view text) const;
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string name(std::string_view what);
  int64_t integer(int64_t lo, int64_t hi);
  int smallInteger() { return static_cast<int>(integer(0, 1 << 20)); }
  double number();
  std::string string();
  ElemType elem();
  void shape(int64_t &rows, int64_t &cols);

  // ---- declarations: Parser.cpp
  std::unique_ptr<Plan> plan();
  void fixedValues(Plan &plan);
  ir::Param param();
  ir::DimExpr dim(int precedence);
  Swizzle swizzle();
  Grid grid();
  GridAxis gridAxis();
  TensorMap map();
  Buffer buffer();
  void tensor(Plan &plan);
  Barrier barrier();
  Role role();
  Var var();
  VarType varType();
  Layout layout();
  Division division();
  void item(Plan &plan);

  // ---- statements: StmtParser.cpp
  /// Statements up to the closing brace, which is read; with variables before them where `vars` is given, a `finish`
  /// where `role` is, a `prologue` and an `epilogue` where `loop` is.
  Body body(std::vector<Var> *vars, Role *role, Stmt *loop);
  Stmt stmt();
  void assignment(Stmt &stmt);
  void compute(Stmt &stmt);
  void effect(Stmt &stmt);
  void inCluster(Stmt &stmt);
  void ofFirst(Stmt &stmt);
  void shared(Stmt &stmt);
  void product(Stmt &stmt);
  void loop(Stmt &stmt);
  void branch(Stmt &stmt);
  void tileAhead(Stmt &stmt);
  void view(Stmt &stmt);
  ir::ViewIndex viewIndex(Stmt &stmt);
  BufferRef bufferRef();
  BarrierRef barrierRef();
  void columns(Stmt &stmt);
  void otherwise(Stmt &stmt);
  void mapAndView(Stmt &stmt);
  void range(std::string &lo, std::string &hi, int64_t &tileSize);

  DiagnosticEngine &diagnostics;
  Lexer lexer;
  Lexeme current;
  Lexeme ahead;
  bool failed = false;
  int depth = 0;
  static constexpr int maxDepth = 64;
};

} // namespace tkc::plan
