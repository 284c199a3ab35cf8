// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a role's variables are read and written: which can be declared where they are first assigned, and which vanish
// into the one expression that reads them.
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::cuda {

class Uses {
public:
  /// `globals`: variables that the role reads but does not own (the prelude's, the grid's).
  explicit Uses(const plan::Role &role);
  /// The same for a straight line of statements.
  Uses(const plan::Body &body, const std::vector<plan::Var> &vars);

  /// Whether the variable's value is printed inside the expressions that read it.
  bool isInlined(const std::string &var) const { return inlined.count(var) != 0; }
  bool isAssignedOnce(const std::string &var) const;
  bool isRead(const std::string &var) const;
  /// Whether this statement is the first to assign the variable, and stands where it can be declared.
  bool declaresAt(const plan::Stmt &stmt, const std::string &var) const;
  /// Variables to be declared without a value before this statement, in order of first use.
  const std::vector<std::string> &declaredBefore(const plan::Stmt &stmt) const;
  /// The one statement that assigns the variable, or null.
  const plan::Stmt *definition(const std::string &var) const;

private:
  struct Frame {
    const plan::Body *body;
    size_t index;
  };
  struct Access {
    const plan::Stmt *stmt;
    std::vector<Frame> path; ///< outermost first; the last is the statement's own place
    bool reads, writes;
  };

  void dropInductions(const plan::Body &body);
  void collect(const plan::Body &body, std::vector<Frame> &path);
  void add(const plan::Stmt &stmt, const std::vector<Frame> &path, const std::string &var, bool reads, bool writes);
  void placeDeclaration(const std::string &var, const std::vector<Access> &accesses);
  bool canInline(const std::string &var, const std::vector<Access> &accesses) const;
  bool isUnchangedBetween(const plan::Stmt &definition, const Access &from, const Access &to) const;

  std::map<std::string, plan::VarType> types;
  std::map<std::string, std::vector<Access>> accessesOf;
  std::vector<std::string> order;
  std::set<std::string> inlined;
  std::map<std::string, const plan::Stmt *> declaringStmt;
  std::map<const plan::Stmt *, std::vector<std::string>> declaredEarlier;
};

/// Whether the statement computes a value and does nothing else.
bool isPure(const plan::Stmt &stmt);

} // namespace tkc::cuda
