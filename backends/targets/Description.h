// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU has, as data. Passes ask a description; they never compare names.
#pragma once

#include "ir/plan/PlanIR.h"
#include "support/ElemType.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::arch {

/// Who issues a matrix instruction.
enum class Issuer : uint8_t {
  Warp,      ///< `mma.sync`: a warp, which has the result when the instruction is over
  Warpgroup, ///< `wgmma`: four warps together, asynchronously
  Thread,    ///< `tcgen05.mma`: one thread for the whole block, asynchronously
  Wave,      ///< MFMA: the 64 lanes of a wave, in order
};
std::string_view spelling(Issuer issuer);

/// Where a matrix instruction takes an operand from, or leaves its result: a set.
enum Space : uint8_t { Registers = 1, SharedMemory = 2, TensorMemory = 4 };

/// How a matrix instruction scales its operands.
enum class Scaling : uint8_t {
  None,
  Block, ///< a scale for each run of elements along k, beside the operand
};

/// One matrix instruction: D[m, n] += A[m, k] · B[k, n].
struct MatrixInstruction {
  Issuer issuer;
  ElemType a, b; ///< operand types
  ElemType accumulator;
  int m;                  ///< rows of one instruction; of `tcgen05` those of one block
  int n, nStep, nMax;     ///< columns: from n to nMax in steps of nStep
  int k;                  ///< contraction of one instruction
  uint8_t aSpaces;        ///< Space bits
  uint8_t bSpaces;        ///< Space bits
  uint8_t resultSpaces;   ///< Space bits
  int macsPerClock;       ///< multiply-adds a clock of one multiprocessor; 0: not published
  bool anyMajor = false;  ///< operands may be contiguous along either axis; else along k only
  bool registerA = false; ///< A may be an accumulator that was narrowed to `a`, where it stands
  Scaling scaling = Scaling::None;
  ElemType scale = ElemType::F8E8M0; ///< of Scaling::Block, as is the next
  int block = 32;                    ///< elements along k that share a scale

  bool isAsynchronous() const { return issuer == Issuer::Warpgroup || issuer == Issuer::Thread; }
};

/// How fast a part is, beyond the figures of its description: what the cost model (backends/cost) asks. Operations are
/// those of threads, a clock of one multiprocessor.
struct Rates {
  int multiplyAdds = 128; ///< of f32, and additions and products
  int simple = 64;        ///< comparisons, maxima, selections, operations on integers, conversions
  int special = 16;       ///< exp2, log2, rcp, rsqrt
  int shuffles = 32;      ///< values that go to another thread of the warp
  int tensorMemory = 0;   ///< values of 32 bits to or from tensor memory
  int l2GBs = 0;          ///< 10⁹ bytes a second from all of L2
  int l2StoreGBs = 0;     ///< and to it; 0: as many
  int l2FillGBs = 0;      ///< and to what it does not hold yet; 0: as many
  int l2SectorGBs = 0;    ///< and of sectors of 32 bytes, of each of which a store writes a part; 0: as many
  double l2Joined = 0;    ///< of the time for what four neighbouring multiprocessors ask for together, that is saved
  int l2Ns = 0;           ///< from a load to its value where L2 has it
  int memoryNs = 0;       ///< and where device memory has it
  double matrixShare = 1; ///< of what clock and matrixInstructions give, that products reach
  /// While products with accumulators in registers run at full rate: the share of each unit's time that others lose.
  double multiplyAddsLost = 0, simpleLost = 0, specialLost = 0;
  /// Power: the share of the clock that is lost while matrix units, L2 and memory are busy throughout, on random data;
  /// and by how much more once that has lasted for `sustainedNs`.
  double matrixDrop = 0.11, l2Drop = 0.07, memoryDrop = 0.03, sustainedDrop = 1.7;
  int sustainedNs = 2000000;
  double memoryShare = 0.9; ///< of bandwidthGBs, that a kernel gets which does nothing but read
  int launchNs = 2500;      ///< of a launch of one block that does nothing, between two events
  int blockNs = 150;        ///< from the end of a block to the first instruction of the next in its place
  bool measured = false;    ///< by us, on the part; else taken from the sources of its file, or from its relatives
};

/// What a GPU's code is written in. One file is in one language.
enum class Language : uint8_t { Cuda, Hip };

struct Description {
  std::string name;                  ///< "sm_90a"
  std::vector<std::string> families; ///< names that a schedule may use as well: "hopper"
  std::string part;                  ///< the part that the figures below `multiprocessors` are of
  bool hasBackend = false;           ///< tkc compiles for it
  bool plansBlockScaling = false;    ///< and uses its block-scaled products
  Language language = Language::Cuda;
  plan::Capability capability = {}; ///< that its code needs (NVIDIA)

  // ---- a multiprocessor (AMD: a compute unit)
  int64_t sharedBytesPerBlock; ///< dynamic, after opting in
  int64_t sharedBytesPerMultiprocessor;
  int64_t sharedSpan = 128;       ///< bytes that its banks serve at once, of a read
  int sharedGrain = 16;           ///< fewest bytes of a row that swizzles may keep together
  int registersPerMultiprocessor; ///< 32-bit
  int maxRegistersPerThread;
  int maxThreadsPerBlock;
  int maxThreadsPerMultiprocessor;
  int warpSize;
  int warpsPerGroup;           ///< warps that issue a matrix instruction together
  int multiplyAddsPerExp2 = 0; ///< of f32, in the time that the special function units take; 0: not looked up
  int tensorMemoryColumns = 0; ///< of 128 lanes of 32 bits; 0: no tensor memory

  // ---- barriers
  int namedBarriers;                    ///< 1: the block's only
  bool hasTransactionBarriers = false;  ///< mbarriers that count the bytes of copies
  int maxClusterSize = 1;               ///< portable; 1: no clusters
  bool hasPairedProducts = false;       ///< two blocks of a cluster multiply together, each with half of b
  bool hasClusterLaunchControl = false; ///< a running block can take over one that was not started
  bool hasDependentLaunch = false; ///< a kernel may begin before that before it on the stream ends, and wait for it

  // ---- copies
  bool hasEvictionPriority = false; ///< loads say what L2 evicts last (PTX ISA, "ld", .L2::cache_hint)
  bool hasAsyncCopy = false;        ///< cp.async: 16 bytes a thread to shared memory, counted in groups
  bool hasBulkTensorCopy = false;   ///< a copy engine that fills shared memory by tensor maps and completes barriers
  int maxBoxDim = 0;                ///< of a copy's box, per dim
  int boxAlignment = 0;             ///< bytes of which a box's place along the rows of its tensor is a multiple
  int directLoadBytes = 0;          ///< bytes a lane of a buffer load straight to LDS
  bool hasMatrixLoad = false;       ///< ldmatrix, as stored and transposed
  bool hasMatrixStore = false;      ///< stmatrix
  bool hasTransposingRead = false;  ///< LDS reads that transpose 16-bit and narrower elements
  bool hasRegisterReallocation = false; ///< setmaxnreg
  bool hasFloat8Conversion = false;     ///< float8 to and from wider floats, an instruction
  bool flushesSubnormals = false;       ///< its matrix instructions take 16-bit operands that are subnormal as 0
  bool float8IsFnuz = false;            ///< its float8 is the variant without infinities and without −0

  // ---- the largest part; for defaults and figures, never for correctness
  int multiprocessors;
  int chiplets = 1;    ///< dies with an L2 of their own
  int lineBytes = 128; ///< of the caches before device memory
  int64_t l2Bytes;     ///< of one such die
  int clockMHz;        ///< at most
  int bandwidthGBs;    ///< of device memory, 10⁹ bytes a second
  Rates rates = {};

  std::vector<MatrixInstruction> matrixInstructions;

  /// The instruction that multiplies these operand types without scales; null where there is none.
  const MatrixInstruction *findMatrixInstruction(ElemType a, ElemType b) const;
  /// The instruction that multiplies these types with such scales; null where there is none.
  const MatrixInstruction *findScaledInstruction(ElemType a, ElemType b, ElemType scale) const;
  /// Whether it converts the language's float8, which is OCP's.
  bool convertsFloat8() const { return hasFloat8Conversion && !float8IsFnuz; }
  plan::Budget budget() const;
  /// Whether an NVIDIA device of this compute capability runs code for it.
  bool runsOn(int major, int minor) const;
  /// The name and the family names, as findSchedule wants them.
  std::vector<std::string> scheduleNames() const;
};

/// By name or family name; null where unknown. A family name stands for its first member that has a backend.
const Description *find(std::string_view name);
/// Oldest first, vendor by vendor.
std::vector<const Description *> all();
/// Every name and family name, for suggestions.
std::vector<std::string> allNames();

/// Each in a file of its own.
extern const Description sm80, sm86, sm89, sm90a, sm100a, sm103a, sm120a, gfx90a, gfx942, gfx950;

/// Rows that a generation has in common (MatrixInstructions.cpp). `rate` is the multiply-adds a clock of a multiprocessor for
/// 16-bit operands.
std::vector<MatrixInstruction> mmaInstructions(int rate, bool float8);
std::vector<MatrixInstruction> wgmmaInstructions(int rate);
std::vector<MatrixInstruction> tcgen05Instructions(int rate, bool int8);
/// Types whose pairs one instruction multiplies with scales of f8e8m0: MXFP8 and MXFP6.
inline constexpr ElemType scaledFloats[] = {ElemType::F8E4M3, ElemType::F8E5M2, ElemType::F6E2M3, ElemType::F6E3M2};
/// The product of each pair of them, by an instruction like `row`.
void addScaledFloats(std::vector<MatrixInstruction> &rows, MatrixInstruction row);
/// MXFP4 and NVFP4 by an instruction like `row`.
void addFloat4(std::vector<MatrixInstruction> &rows, MatrixInstruction row);

} // namespace tkc::arch
