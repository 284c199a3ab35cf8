// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits a loop over tiles where its masks change from true throughout to mixed to false throughout:
//   for %j in tiles(0, L, B) { %s' = select (j.row <= i.col), %s, -inf … }
// ⇒ for %j in tiles(0, mid, B) { … %s … }                                       every element of every tile is seen
//   for %j in tiles(mid, end, B) { %s' = select (j.row <= i.col), %s, -inf … }  the diagonal
// and tiles that are masked throughout are left out where MaskedTiles.h proves that they do nothing. A window has a
// diagonal at its start too, which its last part need not ask for, nor its first part for that at the end where no tile
// has both; an edge mask is mixed in the last tile only.
//
// A mask is a conjunction of affine comparisons of the loop's elements with what is fixed in the loop: `j ≤ R` is true
// up to a tile and false from another on, `j ≥ S` the other way round. Between them, bounds are multiples of the tile
// size from the range's start, so that the tiles stay the same; order and number of effects do too.
// Where nothing but elements of outer tiles is in the masks, a part says `by masks`: then its bounds, computed for a
// part of such a tile, hold for that. Runs after mask-edges, which adds masks, and before fold, which cleans up.
#include "ir/Effects.h"
#include "ir/MaskedTiles.h"
#include "ir/RangeAnalysis.h"
#include "ir/passes/Passes.h"

#include <algorithm>

namespace tkc::ir {
namespace {

/// Of one mask, in tiles from the start of the range. nullopt: no comparison says so.
struct MaskRegions {
  bool isDecided = true;           ///< outside of the mixed tiles nothing but these comparisons matters
  std::optional<Affine> trueFrom;  ///< suffix: true throughout from here
  std::optional<Affine> trueUntil; ///< prefix: true throughout before here
  std::optional<Affine> falseUntil, falseFrom;
  std::vector<Op *> fromSomewhere; ///< the comparisons that say where `trueFrom` is
  std::vector<Op *> toSomewhere;   ///< and where `trueUntil` is
  bool seesFirst = true;           ///< every row sees the first element of the range
};

class Splitter {
public:
  Splitter(Function &function, Op &loop) : function(function), loop(loop), ranges(function) {
    Block &body = loop.body();
    index = body.args[0].get();
    lo = ranges.formOf(loop.operand(0));
    hi = ranges.formOf(loop.operand(1));
    isByElements = !namesTiles(lo) && !namesTiles(hi);
  }

  /// Replaces the loop by its parts, if there is anything to gain.
  void run() {
    collect();
    if (decided.empty() && !start && !end)
      return;
    Builder builder(function, loop.parent);
    builder.setInsertionPointBefore(&loop);
    builder.setLoc(loop.loc);

    Affine first = start ? clamp(pointOf(*start), lo, hi) : lo;
    Affine last = end ? clamp(pointOf(*end), first, hi) : hi;
    Affine fullFrom = trueFrom ? clamp(pointOf(*trueFrom), first, last) : first;
    Affine fullUntil = trueUntil ? clamp(pointOf(*trueUntil), fullFrom, last) : last;
    if (decided.empty()) {
      addPart(builder, first, last, Part::Start);
    } else {
      if (trueFrom)
        addPart(builder, first, fullFrom, Part::Start);
      addPart(builder, fullFrom, fullUntil, Part::Full);
      if (trueUntil)
        addPart(builder, fullUntil, last, Part::End);
    }
    if (isFirstPart)
      return; // an empty range: what it starts with may lack the edges of its results
    for (size_t i = 0; i < loop.results.size(); ++i)
      replaceAllUses(loop.result(i), carried[i]);
    erase(&loop);
  }

private:
  enum class Part : uint8_t { Start, Full, End };

  Function &function;
  Op &loop;
  RangeAnalysis ranges;
  Value *index;
  Affine lo, hi;
  std::vector<Op *> decided;       ///< selects that are their second operand in the full part
  std::vector<Op *> decidedBefore; ///< comparisons that are true in the full part and behind it
  std::vector<Op *> decidedBehind; ///< that are true in the full part, and may be before it
  std::optional<Affine> trueFrom, trueUntil, start, end;
  bool isFirstPart = true;
  bool isByElements = true;     ///< no bound depends on where outer tiles begin and end but through their elements
  std::vector<Value *> carried; ///< what the parts so far leave

  // ---- masks

  void collect() {
    for (auto &op : loop.body().ops) {
      if (op->kind != OpKind::Select)
        continue;
      MaskRegions mask;
      addMask(op->operand(0), mask);
      bool splits = mask.trueFrom || mask.trueUntil;
      // Where the edges of the result are the mask's, the mask stays.
      bool isReplaceable = op->operand(1)->type == op->result()->type;
      if (splits && mask.isDecided && isReplaceable) {
        decided.push_back(op.get());
        decidedBefore.insert(decidedBefore.end(), mask.fromSomewhere.begin(), mask.fromSomewhere.end());
        decidedBehind.insert(decidedBehind.end(), mask.toSomewhere.begin(), mask.toSomewhere.end());
        mergeLater(trueFrom, mask.trueFrom);
        mergeEarlier(trueUntil, mask.trueUntil);
      }
      if (splits && canSkipWhereMasked(loop, *op, false)) {
        mergeLater(start, mask.falseUntil);
        mergeEarlier(end, mask.falseFrom);
      } else if (splits && mask.seesFirst && canSkipWhereMasked(loop, *op, true)) {
        mergeEarlier(end, mask.falseFrom);
      }
    }
  }

  void mergeLater(std::optional<Affine> &into, const std::optional<Affine> &from) {
    if (from)
      into = into ? ranges.maximum(*into, *from) : *from;
  }
  void mergeEarlier(std::optional<Affine> &into, const std::optional<Affine> &from) {
    if (from)
      into = into ? ranges.minimum(*into, *from) : *from;
  }

  /// What the conjuncts of `condition` say about the mask.
  void addMask(Value *condition, MaskRegions &mask) {
    Op *op = condition->definingOp;
    if (op && op->kind == OpKind::And) {
      addMask(op->operand(0), mask);
      addMask(op->operand(1), mask);
    } else if (!op || !isCompare(op->kind) || !addComparison(*op, mask)) {
      mask.isDecided = false;
      mask.seesFirst = false;
    }
  }

  bool addComparison(Op &op, MaskRegions &mask) {
    Value *x = op.operand(0), *y = op.operand(1);
    if (!isInteger(x->type.elem))
      return false;
    // Brought to `slack ≥ 0`.
    Affine slack = ranges.formOf(y) - ranges.formOf(x);
    if (op.kind == OpKind::Lt)
      slack = slack - 1;
    else if (op.kind == OpKind::Gt)
      slack = slack * -1 - 1;
    else if (op.kind == OpKind::Ge)
      slack = slack * -1;
    else if (op.kind != OpKind::Le)
      return false;
    const bool isBound = addBound(slack, mask);
    if (isBound)
      (startsSomewhere(slack) ? mask.fromSomewhere : mask.toSomewhere).push_back(&op);
    return isBound;
  }

  /// Of a bound of this loop's elements: j − S.
  bool startsSomewhere(const Affine &slack) {
    return std::any_of(slack.terms.begin(), slack.terms.end(), [&](const Affine::Term &term) {
      const Atom &atom = ranges.atom(term.first);
      return atom.kind == Atom::Element && atom.value == index && term.second > 0;
    });
  }

  /// slack = R − j or j − S, of an element j of the loop's tile index.
  bool addBound(const Affine &slack, MaskRegions &mask) {
    Affine rest = slack;
    int64_t sign = 0;
    for (auto [id, coefficient] : slack.terms) {
      const Atom &atom = ranges.atom(id);
      if (atom.kind != Atom::Element || atom.value != index)
        continue;
      if (sign != 0 || std::abs(coefficient) != 1)
        return false;
      sign = coefficient;
      std::erase(rest.terms, Affine::Term(id, coefficient));
    }
    isByElements &= !namesTiles(rest);
    std::optional<Affine> least = extreme(rest * -sign, false), most = extreme(rest * -sign, true);
    if (sign == 0 || !least || !most)
      return false;
    int64_t size = index->type.rows;
    if (sign < 0) { // j ≤ R for all R in least … most
      mergeEarlier(mask.trueUntil, tilesUntil(*least - lo + 1));
      mergeEarlier(mask.falseFrom, tilesUntil(*most - lo + size));
      mask.seesFirst &= ranges.isNonNegative(*least - lo);
    } else { // j ≥ S
      mergeLater(mask.trueFrom, tilesUntil(*most - lo + (size - 1)));
      mergeLater(mask.falseUntil, tilesUntil(*least - lo));
      mask.seesFirst &= ranges.isNonNegative(lo - *most);
    }
    return true;
  }

  /// How many whole tiles end there. That of a multiple of tiles is simpler, and holds for no part of one.
  Affine tilesUntil(const Affine &elements) {
    const int64_t size = index->type.rows;
    const Affine tiles = ranges.quotient(elements, size);
    const bool isWhole =
        tiles.terms.size() == 1 && tiles.terms[0].second == 1 && ranges.atom(tiles.terms[0].first).kind == Atom::Div;
    isByElements &= isWhole || !namesTiles(tiles);
    return tiles;
  }

  /// Whether a form depends on where a tile begins or ends.
  bool namesTiles(const Affine &form) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term &term) {
      const Atom atom = ranges.atom(term.first);
      switch (atom.kind) {
      case Atom::Symbol:
      case Atom::Element:
      case Atom::Iota:
        return false;
      case Atom::Scalar:
        return !isSymbolic(*atom.value);
      case Atom::Index:
      case Atom::Begin:
      case Atom::End:
        return true;
      case Atom::Div:
        return namesTiles(atom.lhs);
      case Atom::Min:
      case Atom::Max:
        return namesTiles(atom.lhs) || namesTiles(atom.rhs);
      }
      return true;
    });
  }

  /// An argument of the kernel, or what counts the iterations of a loop over integers.
  static bool isSymbolic(const Value &value) {
    if (const Op *op = value.definingOp)
      return op->kind == OpKind::Param || op->kind == OpKind::Dim || op->kind == OpKind::Const;
    return value.type.isScalar() && value.index == 0;
  }

  /// The least or the greatest that the form is for elements of other tile indices, in scalars that are known before
  /// the loop; nullopt where it depends on the loop or on numbers that differ by element.
  std::optional<Affine> extreme(const Affine &form, bool wantMost) {
    Affine result(form.constant);
    result.valid = form.valid;
    for (auto [id, coefficient] : form.terms) {
      const Atom atom = ranges.atom(id);
      bool most = wantMost == (coefficient > 0);
      Affine value;
      if (atom.kind == Atom::Element)
        value = most ? ranges.endOf(atom.value) - 1 : ranges.beginOf(atom.value);
      else if (atom.kind == Atom::Iota)
        value = most ? Affine(atom.divisor - 1) : Affine(0);
      else if (!isFixed(atom))
        return std::nullopt;
      else
        value.terms.emplace_back(id, 1);
      result = result + value * coefficient;
    }
    if (!result.valid || !isFixed(result))
      return std::nullopt;
    return result;
  }

  bool isFixed(const Affine &form) {
    return std::all_of(form.terms.begin(), form.terms.end(),
                       [&](const Affine::Term &term) { return isFixed(ranges.atom(term.first)); });
  }

  bool isFixed(const Atom &atom) {
    switch (atom.kind) {
    case Atom::Symbol:
      return true;
    case Atom::Scalar:
      return atom.value->type.isScalar() && !isDefinedIn(atom.value, loop.body());
    case Atom::Index:
    case Atom::Begin:
    case Atom::End:
      return !isDefinedIn(atom.value, loop.body());
    case Atom::Element:
    case Atom::Iota:
      return false;
    case Atom::Div:
      return isFixed(atom.lhs);
    case Atom::Min:
    case Atom::Max:
      return isFixed(atom.lhs) && isFixed(atom.rhs);
    }
    return false;
  }

  // ---- parts

  Affine pointOf(const Affine &tiles) { return lo + tiles * index->type.rows; }
  Affine clamp(const Affine &point, const Affine &from, const Affine &to) {
    return ranges.minimum(ranges.maximum(point, from), to);
  }

  Value *bound(Builder &builder, const Affine &form) {
    if (form == lo)
      return loop.operand(0);
    return form == hi ? loop.operand(1) : ranges.materialize(form, builder);
  }

  void addPart(Builder &builder, const Affine &from, const Affine &until, Part kind) {
    if (ranges.isNonNegative(from - until))
      return;
    isFirstPart = false;
    Value *fromValue = bound(builder, from), *untilValue = bound(builder, until);
    ir::ValueMap<Value *> copies;
    Op &part = *builder.clone(loop, copies);
    part.setOperand(0, fromValue);
    part.setOperand(1, untilValue);
    part.byMasks = isByElements;
    for (size_t i = 0; i < carried.size(); ++i)
      part.setOperand(i + 2, carried[i]);
    carried.clear();
    for (auto &result : part.results)
      carried.push_back(result.get());
    if (!(from == lo))
      countFromStart(builder, part, from);
    if (kind == Part::Full)
      for (Op *select : decided)
        decide(*copies[select->result()]->definingOp);
    if (kind == Part::Start)
      for (Op *comparison : decidedBehind)
        if (Op &copy = *copies[comparison->result()]->definingOp; holds(copy))
          leaveOut(copy.result());
    if (kind == Part::End)
      for (Op *comparison : decidedBefore)
        leaveOut(copies[comparison->result()]);
  }

  /// `index %j` goes on counting where the part before ended.
  void countFromStart(Builder &before, Op &part, const Affine &from) {
    std::vector<Op *> counts;
    walk(part.body(), [&](Op &op) {
      if (op.kind == OpKind::Index && rootTileIndex(op.operand(0)) == part.body().args[0].get())
        counts.push_back(&op);
    });
    if (counts.empty())
      return;
    before.setInsertionPointBefore(&part);
    Value *skipped = ranges.materialize(ranges.quotient(from - lo, index->type.rows), before);
    for (Op *count : counts) {
      std::vector<Op *> users = count->result()->users;
      Builder builder(function, count->parent);
      builder.setInsertionPointBefore(std::next(count->position)->get());
      Value *sum = builder.binary(OpKind::Add, count->result(), skipped);
      for (Op *user : users)
        for (size_t i = 0; i < user->operands().size(); ++i)
          if (user->operand(i) == count->result())
            user->setOperand(i, sum);
    }
    before.setInsertionPointBefore(&loop);
  }

  /// Whether a comparison is true for all elements of its part: in a window longer than the tiles no tile has both
  /// ends.
  bool holds(const Op &comparison) {
    return ranges.compare(comparison.kind, comparison.operand(0), comparison.operand(1)) == std::optional(true);
  }

  /// What is true throughout a part takes no part in a mask.
  static void leaveOut(Value *comparison) {
    const std::vector<Op *> users = comparison->users;
    for (Op *user : users)
      if (user->kind == OpKind::And) {
        Value *other = user->operand(user->operand(0) == comparison ? 1 : 0);
        if (other != comparison && other->type == user->result()->type)
          replaceAllUses(user->result(), other);
      }
  }

  /// In the full part a select is its second operand.
  static void decide(Op &select) {
    replaceAllUses(select.result(), select.operand(1));
    erase(&select);
  }
};

/// Splitting copies the body, inner loops and their copies included: no further than this many ops.
constexpr size_t maxBodySize = 3000;

bool isSmall(Block &body) {
  size_t size = 0;
  walk(body, [&](Op &) { ++size; });
  return size <= maxBodySize;
}

void collectLoops(Block &block, std::vector<Op *> &loops) {
  for (auto &op : block.ops) {
    for (auto &body : op->bodies)
      collectLoops(*body, loops);
    if (op->kind == OpKind::For && op->tileSize != 0 && op->constant != 1) // of one tile nothing is saved
      loops.push_back(op.get());
  }
}

} // namespace

void splitLoops(Function &function) {
  std::vector<Op *> loops; // inner ones first, so that no part is split again
  collectLoops(function.body, loops);
  for (Op *loop : loops)
    if (isSmall(loop->body()))
      Splitter(function, *loop).run();
}

} // namespace tkc::ir
