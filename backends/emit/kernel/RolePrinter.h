// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the statements of a role as C++ over the runtime. One file a family: Compute.cpp (values), Memory.cpp (global
// memory), Staging.cpp (shared memory and the copy engine), Products.cpp, and Control.cpp, which dispatches.
#pragma once

#include "backends/cpp/Cpp.h"
#include "backends/emit/Names.h"
#include "backends/emit/kernel/Types.h"
#include "backends/emit/kernel/Uses.h"
#include "ir/plan/ByElements.h"
#include "ir/plan/IgnoredNaN.h"
#include "ir/plan/Rounding.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace tkc {
class SourceManager;
}

namespace tkc::cuda {

/// What is the same in all roles of a kernel.
struct KernelContext {
  const plan::Plan &plan;
  const SourceManager &sources;
  std::set<std::string> splitBuffers;       ///< one array element an instance, as no instance touches another's part
  std::map<std::string, bool> scaleBuffers; ///< of block scales; true: in the order of tensor memory
  std::map<std::string, cpp::Expr> preludeValues;                        ///< of the prelude's variables
  std::map<std::string, std::pair<std::string, std::string>> axisRanges; ///< of the grid's variables: lo, hi
  std::map<std::string, plan::VarType> axisTypes;                        ///< of the grid's variables
  std::map<std::string, std::set<std::string>> correctlyRounded;         ///< ir/plan/Rounding.h
  std::map<std::string, std::set<std::string>> ignoredNaN;               ///< ir/plan/IgnoredNaN.h
  int recordWords = 2;                                                   ///< EmitOptions::recordWords
  MemberNames members;                                                   ///< of the two structs
  std::map<std::string, std::string> gridNames;                          ///< of the grid's variables, in every role
  std::map<std::string, std::string> rangeNames; ///< by axis over tiles: what its range is called
  std::map<std::string, cpp::Body> gridBounds;   ///< by ragged axis: finds its bounds

  /// A parameter or symbol among the kernel's arguments.
  cpp::Expr argument(const std::string &name) const;
  /// Whether the copy engine can take what is to be loaded, as the launcher found.
  cpp::Expr loadsFit() const;
  /// Whether the launcher finds that out: whether tiles are loaded by maps.
  bool asksLoadsFit() const;
  /// Whether vectors are loaded by the map.
  bool loadsVectors(const std::string &map) const;
  /// Whether the launcher found that the tensor of a map by which one stores, or loads vectors, suits the engine.
  cpp::Expr fits(const std::string &map) const;
  /// Among the kernel's arguments as well.
  cpp::Expr tensorMap(const std::string &map) const;
  cpp::Expr columns() const; ///< of tiles, as the launcher chose them
  cpp::Expr sharedBuffer(const std::string &buffer) const;
  cpp::Expr sharedBarrier(const std::string &barrier) const;

  const ir::Param *findParam(std::string_view name) const;
  /// A dim of a tensor, or the number that a symbol is.
  cpp::Expr dim(const ir::DimExpr &dim) const;
  cpp::Expr symbol(const std::string &name) const;
  /// Whether products into tensor memory are those of pairs of blocks.
  bool multipliesByPairs() const;
  /// The number of this block, or of its cluster.
  cpp::Expr blockNumber() const;
  /// The place of this block of a cluster along an axis, and the blocks that differ from it in nothing else, as a mask;
  /// along "" its rank, and all.
  cpp::Expr placeAlong(const std::string &axis) const;
  cpp::Expr maskAlong(const std::string &axis) const;
};

/// How a role's copies in are done.
enum class CopyMode : uint8_t {
  Engine,    ///< by the copy engine
  Threads,   ///< by the role's threads
  AtRunTime, ///< as the launcher found, vectors by the threads in any case
};

/// What of a role with a head start is printed (ir/plan/HeadStart.h).
enum class HeadPart : uint8_t {
  None, ///< all of it: it is printed as if it had none
  Head, ///< what it asks for before the block meets
  Rest, ///< all but that
};

/// Scalars that are read for the bounds of loops alone, and to compare with these what lies in the loop.
std::set<std::string> boundsOfLoops(const plan::Role &role);

class RolePrinter {
public:
  RolePrinter(const KernelContext &kernel, const plan::Role &role, cpp::NameScope names);
  RolePrinter(const RolePrinter &) = delete;

  CopyMode copyMode = CopyMode::AtRunTime;
  bool singleThread = false; ///< one thread runs the role: no election is needed
  HeadPart headPart = HeadPart::None;
  cpp::Expr instance;         ///< which of the role's instances this is; empty: there is one
  cpp::Expr leader;           ///< true in one thread of the instance
  cpp::Expr threadInInstance; ///< from 0
  cpp::Expr threadInRole;     ///< from 0

  /// Statements that stand once before the loop over tiles: cursors, scratch.
  cpp::Body setup();
  cpp::Body body();
  cpp::Body finish();
  cpp::Expr valueOf(const std::string &var) { return value(var); }
  /// The name of a variable.
  std::string nameOf(const std::string &var);
  /// All names that are taken where the role stands, its own among them.
  const cpp::NameScope &scope() const { return names; }

private:
  struct ViewParts;
  struct Axis;

  // Control.cpp
  cpp::Body print(const plan::Body &body);
  void printStmt(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Body printIteration(SourceLoc loop, const plan::Body &body);
  void printFor(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Body printAfterHead(const plan::Stmt &loop);
  std::string declareRange(const plan::Stmt &loop, cpp::Body &out);
  cpp::Body firstIteration(const plan::Stmt &loop, const std::string &range);
  cpp::Stmt otherIterations(const plan::Stmt &loop, const std::string &range, const std::string &done);
  void printJoined(std::span<const plan::Stmt> loops, cpp::Body &out);
  void printCopyingLoop(const plan::Stmt &stmt, cpp::Body &out);
  void printLoadingLoop(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr conditionOf(const plan::Stmt &branch);
  void printIf(const plan::Stmt &stmt, cpp::Body &out);
  void printAhead(const plan::Stmt &stmt, cpp::Body &out);
  /// The name of a loop's range of tiles; declares it where it has none yet.
  std::string tilesOf(const plan::Stmt &stmt, cpp::Body &out);
  bool isFixed(const std::string &var) const;
  void comment(const plan::Stmt &stmt, cpp::Body &out);
  void emit(const plan::Stmt &stmt, cpp::Body &out, cpp::Expr call);
  void printArrive(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr barrierRef(const plan::Stmt &stmt) const;

  // Compute.cpp
  static cpp::Expr convert(cpp::Expr value, ElemType from, ElemType to);
  void printCompute(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr spread(const plan::Stmt &stmt);
  /// dest = value, as a declaration where it is the first.
  void assign(const plan::Stmt &stmt, cpp::Expr value, cpp::Body &out);
  cpp::Expr value(const std::string &var);
  cpp::Expr masked(const std::string &condition, cpp::Expr chosen, const std::string &otherwise);
  cpp::Expr computed(const plan::Stmt &stmt);
  cpp::Expr infix(const plan::Stmt &stmt, const std::string &op);
  cpp::Expr function(const plan::Stmt &stmt, const std::string &name);
  cpp::Expr quotient(const plan::Stmt &stmt);
  cpp::Expr root(const plan::Stmt &stmt);
  bool isRounded(const plan::Stmt &stmt) const;
  bool mayBeNaN(const plan::Stmt &stmt) const;
  cpp::Expr shifted(const plan::Stmt &stmt);
  cpp::Expr moved(const plan::Stmt &stmt);
  std::optional<cpp::Expr> onePlus(const plan::Stmt &stmt);
  std::optional<cpp::Expr> scaledTanh(const plan::Stmt &stmt);
  const plan::Stmt *inlinedAs(const std::string &var, ir::OpKind op) const;
  std::optional<std::pair<std::string, std::string>> tileTimesScalar(const plan::Stmt &product) const;
  cpp::Expr scratch(const plan::Stmt &stmt);
  cpp::Expr reduction(const plan::Stmt &stmt);
  cpp::Expr externCall(const plan::Stmt &stmt);
  cpp::Expr indices(const plan::VarType &type, int axis);
  cpp::Expr firstOfInstance(const plan::VarType &type, int axis) const;
  bool comparesColumns(const plan::Stmt &stmt) const;
  cpp::Expr columnsBefore(const plan::Stmt &stmt);
  cpp::Expr edge(const plan::Stmt &stmt);
  cpp::Expr beginMovedBy(const std::string &tile, const cpp::Expr &by);
  cpp::Expr elementsOf(const plan::VarType &type, int axis, const std::string &tile);
  // Counted.cpp
  struct CountedPlaces;
  const plan::Stmt *computedBy(const std::string &var, ir::OpKind op) const;
  std::optional<std::string> countedCondition(const std::string &row) const;
  bool isCount(const plan::Stmt &stmt) const;
  const plan::Stmt *countedPlace(const std::string &place, CountedPlaces &places) const;
  bool saysCounted(const std::string &condition, const plan::Stmt &count) const;
  std::optional<CountedPlaces> countedPlaces(const plan::Stmt &store) const;
  bool haveSameScalars(const CountedPlaces &places, const plan::Stmt &store) const;
  std::optional<cpp::Stmt> countedScatter(const plan::Stmt &store, const cpp::Expr &base, const cpp::Expr &stored);
  const plan::Stmt *runningCountOf(const plan::Stmt &sum) const;
  cpp::Expr counted(const plan::Stmt &stmt);
  // ByElements.cpp
  /// Prints the run of element-wise work that begins at `i`, and leaves `i` at its last statement; false: there is
  /// none.
  bool printByElements(const plan::Body &body, size_t &i, cpp::Body &out);
  bool findLeaves(const std::vector<const plan::Stmt *> &run, const plan::Stmt &stmt,
                  std::vector<std::string> &leaves) const;
  const plan::VarType &typeOf(const std::string &var) const;
  bool isTile(const std::string &var) const;
  const plan::Stmt *definitionOf(const std::string &var) const;
  std::optional<double> constantOf(const std::string &var) const;
  std::string negatedBy(const plan::Stmt &stmt) const;
  /// Whether the result of an i32 sum, difference or product may be too large.
  bool mayWrap(const plan::Stmt &stmt) const;
  bool isIndex(const std::string &var, int depth = 0) const;
  bool isMoved(const std::string &tile) const;
  bool liesAtMultiples(const std::string &tile, int64_t unit, const cpp::Expr &extent);
  bool isFarMoved(const std::string &tile) const;
  bool isStepped(const std::string &tile) const;
  bool bringsColumns(const plan::Stmt &copy) const;
  cpp::Expr broughtRows(const plan::Stmt &copy) const;
  cpp::Expr bytesOfCopies(int64_t most, const std::vector<const plan::Stmt *> &copies) const;
  bool exists(const std::string &tile) const;
  bool isMultiple(const std::string &var, int64_t factor, const cpp::Expr &dim, int depth = 0);
  std::string typeText(const std::string &var) const { return variableType(typeOf(var), role.instances); }

  // Memory.cpp
  cpp::Stmt declareAlignment(const plan::Stmt &first);
  void printLoadShared(const plan::Stmt &stmt, cpp::Body &out);
  void printLookUp(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr loadedAligned(const plan::Stmt &stmt, const ViewParts &parts, const plan::VarType &loaded);
  void printLoad(const plan::Stmt &stmt, cpp::Body &out);
  int64_t tileSizeOf(const std::string &tile) const;
  cpp::Expr loadedElement(const plan::Stmt &stmt);
  cpp::Expr storesItself(const plan::Stmt &stmt);
  void printStore(const plan::Stmt &stmt, cpp::Body &out);
  ViewParts viewOf(const plan::Stmt &stmt, int64_t rows, int64_t cols, bool isColumn, plan::Division division);
  /// `align`: what the view promises of its tensor where that is `wide`; 0: nothing.
  cpp::Expr viewExpr(const ViewParts &parts, int align = 0) const;
  cpp::Expr gathered(const plan::Stmt &stmt, const plan::VarType &type, cpp::Expr &offsets, cpp::Expr &condition);
  static bool suitsWide(const ViewParts &parts);
  static int bytesAtOnce(const ViewParts &parts, const plan::Layout &layout);
  cpp::Expr isWide(const ir::Param &param, int align) const;
  /// What an access gives outside the tensor, as its elements are stored.
  cpp::Expr otherwise(const plan::Stmt &stmt);

  // Staging.cpp
  void printCopies(const plan::Body &body, size_t &i, cpp::Body &out);
  bool isByEngine(const plan::Stmt &copy) const;
  /// Of several operands of a stage, each with a condition, the branches stand within the copies: around them they
  /// spill a register of some roles, and where there is one operand it is the other way round.
  void copyByThreads(const plan::Stmt &stmt, cpp::Body &out, const cpp::Expr &onlyIf = {}, bool isOneOfSeveral = false);
  cpp::Stmt engineWhereFits(const plan::Stmt &copy);
  void copyAllByThreads(const std::vector<const plan::Stmt *> &byThreads,
                        const std::vector<const plan::Stmt *> &byEngine, cpp::Body &out);
  void printWaitForLoads(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr allLoadsAreWide() const;
  /// Whether the rows of all tensors that loads bring straight to shared memory come in whole 16 bytes: asked where it
  /// matters, or, in loops that stand there for either answer, known.
  enum class Wide : uint8_t { Asked, Yes, No } wide = Wide::Asked;
  void copyAsync(const plan::Stmt &stmt, cpp::Body &out);
  void printFetch(const plan::Stmt &stmt, cpp::Body &out);
  cpp::Expr copyByEngine(const plan::Stmt &stmt);
  cpp::Expr multicastByEngine(const plan::Stmt &stmt);
  cpp::Expr copyForPair(const plan::Stmt &stmt);
  std::vector<cpp::Expr> coordinates(const plan::Stmt &stmt, bool withPart);
  bool goesByEngine(const plan::BufferRef &ref, const std::string &tensor) const;
  void copyOutByThreads(const plan::Stmt &stmt, cpp::Body &out);
  void printCopyOut(const plan::Stmt &stmt, cpp::Body &out);
  void printCopyOutOfColumns(const plan::Stmt &stmt, cpp::Body &out);
  void printStoreShared(const plan::Stmt &stmt, cpp::Body &out);
  /// The shared array's element that `ref` names.
  cpp::Expr stage(const plan::BufferRef &ref) const;
  cpp::Expr slice(const plan::BufferRef &ref) const;

  // TensorMemory.cpp
  cpp::Expr tensorTile(const plan::BufferRef &ref) const;
  void printTensorAccess(const plan::Stmt &stmt, cpp::Body &out);
  void printTensorProduct(const plan::Stmt &stmt, cpp::Body &out);
  void printTensorCommit(const plan::Stmt &stmt, cpp::Body &out);

  // Products.cpp
  cpp::Expr productOperand(const plan::BufferRef &ref) const;
  void printProduct(const plan::Stmt &stmt, cpp::Body &out);
  void printProductFence(const plan::Body &body, size_t i, cpp::Body &out);
  void printProductWait(const plan::Stmt &stmt, cpp::Body &out);
  void trackProducts(const plan::Body &body);
  bool isPinnable(const std::string &var) const;

  /// Records that are printed as one group: the first one's event, how many, how many so far.
  struct RecordGroup {
    int first = 0, count = 0, printed = 0;
  };
  static RecordGroup groupAt(const plan::Body &body, size_t at);
  static std::optional<RecordGroup> onlyGroup(const plan::Body &body);
  void beginGroup(const RecordGroup &group, cpp::Body &out);
  void beginGroupOf(const plan::Body &body, cpp::Body &out);
  void printRecord(const plan::Body &body, size_t at, RecordGroup &group, cpp::Body &out);
  const plan::Body *begunGroup = nullptr; ///< the last loop's body whose records' group is begun before the loop
  /// What records go through; declared by `setup` where the role has any.
  const std::string recorderName = "recorder";

  const KernelContext &kernel;
  const plan::Role role;
  Uses uses;
  const plan::Accesses accesses;
  cpp::NameScope names;
  /// Of tile indices and integers, of the grid or a loop: lo, hi. Other roles have other variables of the same name.
  std::map<std::string, std::pair<std::string, std::string>> ranges;
  std::set<std::string> loops;  ///< of these, those of loops: every tile exists
  std::set<std::string> bounds; ///< boundsOfLoops
  std::map<std::string, std::string> cppNames;
  std::map<std::string, std::string> scratchNames;  ///< by buffer, which a variable of the plan may share its name with
  std::map<std::string, std::string> declaredTiles; ///< by what the range is; in scope here
  std::map<const plan::Stmt *, std::set<std::string>> retiredAt;  ///< variables that a ProductWait hands back
  std::map<const plan::Stmt *, std::set<std::string>> inFlightAt; ///< variables not to touch at a ProductFence
  std::vector<std::set<std::string>> groupsInFlight;              ///< while tracking; the last one is still open
  std::set<std::string> readInFlight, loadedMeanwhile; ///< while tracking: register operands; loads beside them
  std::set<std::string> namedByWaits;                  ///< which are no constants
  /// Not null: where to note the tensors that the text being printed takes to suit copies of 16 bytes.
  std::set<std::string> *assumedWide = nullptr;
  std::string alignmentName; ///< of the variable that says where vectors begin, in a role whose rows are aligned
  unsigned lastLine = 0;
  bool vectorsFit = false;         ///< in a branch that asks whether the vectors suit the copy engine
  bool ofOneInstance = false;      ///< in a branch that is one instance's: others do not take part in copies
  std::vector<unsigned> loopLines; ///< of the loops around what is being printed
  bool byElements = false;         ///< what is being printed is said of elements, not of tiles
};

} // namespace tkc::cuda
