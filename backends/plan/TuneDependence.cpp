// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel is elaborated with two values of the tune, and both functions are walked side by side.
//
// - They may differ in the sizes of tiles alone. Another number, slice or op says that the tune is a number to the
//   kernel, as in `i / BM`. So does the number of a tile (`m.index`) of which there are more or fewer, or a place in
//   one (`m - m.begin`).
// - What is reduced along an axis that is cut elsewhere is a *part*: of a sum, a maximum, a product. Parts are right if
// a
//   loop over the tiles combines them. A store of a part shows the cut: of a tile of the grid always, of a loop's tile
//   unless something that the loop carries is in it; so does what a loop yields without what it carried, which is the
//   last tile's part.
// - A value that a loop over the tiles computes from what it carries alone counts the loop's rounds, and so does one
// that
//   is scaled in each by the same number.
//
// Whether a loop that does combine parts combines them rightly (an online softmax does, running means of what is not
// weighed do not) is for nobody to see here: these are taken to be right.
#include "backends/plan/TuneDependence.h"

#include "frontend/AST.h"
#include "ir/Effects.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>
#include <unordered_map>

namespace tkc::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;
using Indices = ir::ValueSet;

/// Two functions of one shape; which of the first one's tile indices and axes have another size in the second.
class SideBySide {
public:
  /// The first op that is more than another size, or null.
  const Op *difference(const ir::Block &a, const ir::Block &b) {
    matchAll(a.args, b.args);
    auto other = b.ops.begin();
    for (const auto &op : a.ops) {
      if (other == b.ops.end() || !alike(*op, **other))
        return op.get();
      matchAll(op->results, (*other)->results);
      for (size_t i = 0; i < op->bodies.size(); ++i)
        if (const Op *found = difference(op->body(i), (*other)->body(i)))
          return found;
      ++other;
    }
    // What follows in `b` alone is told of at the op before it.
    return other == b.ops.end() || a.ops.empty() ? nullptr : a.ops.back().get();
  }

  bool isCut(const Value *index) const { return index && cut.count(index); }
  bool hasOtherRows(const Value *value) const { return counterpart(value)->type.rows != value->type.rows; }
  bool hasOtherCols(const Value *value) const { return counterpart(value)->type.cols != value->type.cols; }

private:
  const Value *counterpart(const Value *value) const { return matches.at(value); }

  void matchAll(const std::vector<std::unique_ptr<Value>> &a, const std::vector<std::unique_ptr<Value>> &b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      matches[a[i].get()] = b[i].get();
      if (a[i]->type.kind == ir::Type::TileIndex && a[i]->type.rows != b[i]->type.rows)
        cut.insert(a[i].get());
    }
  }

  bool alike(const Op &a, const Op &b) const {
    if (a.kind != b.kind || a.operands().size() != b.operands().size() || a.results.size() != b.results.size() ||
        a.bodies.size() != b.bodies.size() || a.constant != b.constant || a.name != b.name || a.axis != b.axis ||
        a.reduce != b.reduce || a.atomic != b.atomic || a.hasElse != b.hasElse ||
        (a.tileSize == 0) != (b.tileSize == 0) || !alike(a.view, b.view))
      return false;
    for (size_t i = 0; i < a.operands().size(); ++i)
      if (counterpart(a.operand(i)) != b.operand(i))
        return false;
    for (size_t i = 0; i < a.results.size(); ++i)
      if (a.result(i)->type.elem != b.result(i)->type.elem || a.result(i)->type.kind != b.result(i)->type.kind)
        return false;
    return (a.kind != OpKind::Index || !isCut(ir::rootTileIndex(a.operand(0)))) && !isPlaceInTile(a);
  }

  /// Whether a tile of which there are more or fewer is moved by where it begins, as in `m - m.begin`.
  bool isPlaceInTile(const Op &op) const {
    if (op.kind != OpKind::Shift || !isCut(ir::rootTileIndex(op.operand(0))))
      return false;
    const Value *moved = ir::rootTileIndex(op.operand(0));
    return ir::searchBack(op.operand(1), [&](const Value *at, std::vector<const Value *> &next) {
      if (at->definingOp)
        next.assign(at->definingOp->operands().begin(), at->definingOp->operands().end());
      return at->definingOp && at->definingOp->kind == OpKind::Begin &&
             ir::rootTileIndex(at->definingOp->operand(0)) == moved;
    });
  }

  static bool alike(const ir::View &a, const ir::View &b) {
    return a.tensor == b.tensor && std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(),
                                              [](const ir::ViewIndex &x, const ir::ViewIndex &y) {
                                                return x.kind == y.kind && x.operand == y.operand && x.lo == y.lo &&
                                                       x.hi == y.hi && x.divisor == y.divisor;
                                              });
  }

  std::unordered_map<const Value *, const Value *> matches;
  Indices cut;
};

/// What is known of a value.
struct Facts {
  Indices parts;             ///< cut indices of which it has a tile's part
  Indices indices;           ///< cut indices that have any say in it
  ir::OpSet loops;           ///< whose carried values it is made of
  bool counts = false;       ///< what it is made of them by is other when it is done twice
  bool ownMemory = false;    ///< made of what the kernel itself may have stored
  const Op *shown = nullptr; ///< it depends on the cut: here

  bool join(const Facts &other) {
    const size_t before = size();
    parts.insert(other.parts.begin(), other.parts.end());
    indices.insert(other.indices.begin(), other.indices.end());
    loops.insert(other.loops.begin(), other.loops.end());
    counts |= other.counts;
    ownMemory |= other.ownMemory;
    if (!shown)
      shown = other.shown;
    return size() != before;
  }

private:
  size_t size() const { return parts.size() + indices.size() + loops.size() + counts + ownMemory + (shown != nullptr); }
};

/// Done twice with the same operands, it is as if it was done once.
bool isIdempotent(OpKind kind) {
  return kind == OpKind::Max || kind == OpKind::Min || kind == OpKind::And || kind == OpKind::Or;
}

class Parts {
public:
  explicit Parts(const SideBySide &pair) : pair(pair) {}

  /// Where a result depends on where tiles are cut, or null.
  const Op *find(const ir::Function &function) {
    for (const ir::Param &param : function.params)
      if (param.isTensor && param.mode != ir::ParamMode::In)
        written.insert(param.name);
    visit(function.body);
    return found;
  }

private:
  void visit(const ir::Block &block) {
    for (const auto &op : block.ops)
      visit(*op);
  }

  void visit(const Op &op) {
    if (op.kind == OpKind::For)
      return visitLoop(op);
    if (op.kind == OpKind::Parallel || op.kind == OpKind::If) {
      for (const auto &body : op.bodies)
        for (const auto &arg : body->args)
          startIndex(arg.get());
      for (const auto &body : op.bodies)
        visit(*body);
      for (size_t i = 0; i < op.results.size(); ++i) {
        Facts joined = of(op.operand(0));
        for (const auto &body : op.bodies)
          joined.join(of(body->terminator()->operand(i)));
        facts[op.result(i)] = std::move(joined);
      }
      return;
    }
    const Facts made = factsOf(op);
    if (op.kind == OpKind::Store)
      checkStore(op, of(op.operands().back()));
    for (const auto &result : op.results)
      facts[result.get()] = made;
  }

  void startIndex(const Value *index) {
    if (pair.isCut(index))
      facts[index].indices.insert(index);
  }

  Facts factsOf(const Op &op) const {
    Facts joined;
    for (const Value *operand : op.operands())
      joined.join(of(operand));
    addParts(op, joined);
    if (op.kind == OpKind::Load && written.count(op.view.tensor))
      joined.ownMemory = true;
    const bool works = ir::isElementwiseUnary(op.kind) ||
                       (ir::isElementwiseBinary(op.kind) && !ir::isCompare(op.kind) && !isIdempotent(op.kind)) ||
                       op.kind == OpKind::Dot || op.kind == OpKind::DotScaled;
    joined.counts |= works && !joined.loops.empty();
    return joined;
  }

  /// Of what is contracted, summed up or looked for along an axis with a cut.
  void addParts(const Op &op, Facts &joined) const {
    if (op.kind == OpKind::Dot || op.kind == OpKind::DotScaled) {
      addAxis(op.operand(0), 1, joined);
      addAxis(op.operand(op.kind == OpKind::Dot ? 1 : 2), 0, joined);
    } else if (op.kind == OpKind::Reduce || op.kind == OpKind::Cumsum) {
      addAxis(op.operand(0), op.axis, joined);
    }
  }

  /// `axis`: 0 the rows. A full one with another size is of an index that has a say in it, such as a load with `else`
  /// has.
  void addAxis(const Value *x, int axis, Facts &joined) const {
    const ir::Type &type = x->type;
    const bool rows = axis == 0 || type.kind == ir::Type::Vector;
    const Value *end = rows ? type.rowEnd : type.colEnd;
    if (pair.isCut(end))
      joined.parts.insert(end);
    else if (!end && (rows ? pair.hasOtherRows(x) : pair.hasOtherCols(x)))
      for (const Value *index : of(x).indices)
        if (index->type.rows == (rows ? type.rows : type.cols))
          joined.parts.insert(index);
  }

  void visitLoop(const Op &loop) {
    const ir::Block &body = loop.body();
    const Value *index = body.args.front().get();
    startIndex(index);
    const size_t carried = body.args.size() - 1;
    for (size_t i = 0; i < carried; ++i) {
      facts[body.args[i + 1].get()].join(of(loop.operand(i + 2)));
      facts[body.args[i + 1].get()].loops.insert(&loop);
    }
    for (bool changes = true; changes;) {
      visit(body);
      changes = false;
      for (size_t i = 0; i < carried; ++i) {
        const Value *yielded = body.terminator()->operand(i), *arg = body.args[i + 1].get();
        changes |= facts[arg].join(of(yielded));
        // What was another's a round ago counts, too.
        if (yielded != arg && yielded->ownerBlock == &body && !facts[arg].counts)
          changes = facts[arg].counts = true;
      }
    }
    for (size_t i = 0; i < carried; ++i)
      facts[loop.result(i)] = afterLoop(loop, i);
  }

  Facts afterLoop(const Op &loop, size_t i) {
    const Value *index = loop.body().args.front().get(), *yielded = loop.body().terminator()->operand(i);
    Facts result = of(yielded);
    const bool passes = yielded == loop.body().args[i + 1].get();
    if (pair.isCut(index) && !passes && !result.ownMemory && !result.shown) {
      const bool carriesOn = result.loops.count(&loop) != 0;
      if (!carriesOn && result.parts.count(index))
        result.shown = &loop;
      if (carriesOn && result.counts && !result.indices.count(index))
        result.shown = &loop;
      if (isScaled(yielded, loop.body().args[i + 1].get(), index))
        result.shown = &loop;
    }
    result.join(of(loop.operand(i + 2)));
    result.parts.erase(index);
    result.indices.erase(index);
    result.loops.erase(&loop);
    result.counts &= !result.loops.empty();
    return result;
  }

  /// `value` is `carried` times something that is the same in every round, plus anything: a round more scales it once
  /// more. (An online softmax scales by what comes of the tiles.)
  bool isScaled(const Value *value, const Value *carried, const Value *index) const {
    bool scaled = false;
    const Op *op = value->definingOp;
    for (; op && value != carried; op = value->definingOp) {
      const auto leads = [&](const Value *operand) { return operand == carried || reaches(operand, carried); };
      const size_t way = op->operands().size() == 2 && !leads(op->operand(0)) ? 1 : 0;
      switch (op->kind) {
      case OpKind::Div:
      case OpKind::Mul: {
        const Facts &factor = of(op->operand(1 - way));
        scaled |= !factor.indices.count(index) && !factor.loops.count(index->ownerBlock->parent);
        break;
      }
      case OpKind::Add:
      case OpKind::Sub:
      case OpKind::Cast:
        break;
      default:
        return false;
      }
      value = op->operand(way);
    }
    return scaled && value == carried;
  }

  static bool reaches(const Value *from, const Value *carried) {
    return ir::searchBack(from, [&](const Value *at, std::vector<const Value *> &next) {
      if (at->definingOp)
        next.insert(next.end(), at->definingOp->operands().begin(), at->definingOp->operands().end());
      return at == carried;
    });
  }

  void checkStore(const Op &store, const Facts &stored) {
    if (found)
      return;
    if (stored.shown) {
      found = stored.shown;
      return;
    }
    for (const Value *index : stored.parts) {
      const Op *parent = index->ownerBlock->parent;
      if (parent->kind == OpKind::Parallel || (!stored.ownMemory && !stored.loops.count(parent)))
        found = &store;
    }
  }

  const Facts &of(const Value *value) const {
    static const Facts none;
    const auto it = facts.find(value);
    return it == facts.end() ? none : it->second;
  }

  const SideBySide &pair;
  std::set<std::string> written;
  std::unordered_map<const Value *, Facts> facts;
  const Op *found = nullptr;
};

/// Whether the kernel's reference speaks of `name`.
bool referenceMentions(const KernelInfo &kernel, std::string_view name, const SourceManager &sources) {
  if (!kernel.reference)
    return false;
  const std::string_view text = sources.text(kernel.reference->range);
  const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

} // namespace

std::string whyDependent(const ir::Function &function, const ir::Function &changed, const SourceManager &sources) {
  SideBySide pair;
  const auto line = [&](const Op &op) { return sources.fileLine(op.loc); };
  if (const Op *op = pair.difference(function.body, changed.body))
    return op->kind == OpKind::Index   ? fmt::format("{} has the number of a tile", line(*op))
           : op->kind == OpKind::Shift ? fmt::format("{} has the place in a tile", line(*op))
                                       : fmt::format("{} has it, or what follows from it, as a number", line(*op));
  if (const Op *op = Parts(pair).find(function))
    return op->kind == OpKind::Store ? fmt::format("{} stores what was reduced within a tile", line(*op))
                                     : fmt::format("what the loop of {} leaves depends on its rounds", line(*op));
  return "";
}

std::map<std::string, std::string> dependentTunes(const Module &module, const ElaboratedKernel &kernel,
                                                  const SourceManager &sources) {
  std::map<std::string, std::string> result;
  const auto with = [&](const std::string &name, int64_t value) {
    std::map<std::string, int64_t> all = kernel.tunes;
    all[name] = value;
    DiagnosticEngine silent(sources);
    return elaborateWith(module, kernel, all, silent);
  };
  for (const auto &[name, written] : kernel.kernel->signature.tunes) {
    const std::optional<int64_t> value = kernel.function->findConstant(name);
    if (!value)
      continue;
    if (referenceMentions(*kernel.kernel, name, sources)) {
      result[name] = "the reference speaks of it";
      continue;
    }
    // Of one element a tile has no edge, and may be a scalar.
    const int64_t several = std::max<int64_t>(*value, 2);
    const std::unique_ptr<ir::Function> function = with(name, several);
    std::unique_ptr<ir::Function> changed = several > 3 ? with(name, several / 2) : nullptr;
    if (!changed)
      changed = with(name, several * 2);
    // What can have no other value is not changed either.
    if (!function || !changed)
      continue;
    if (std::string why = whyDependent(*function, *changed, sources); !why.empty())
      result[name] = std::move(why);
  }
  return result;
}

} // namespace tkc::planner
