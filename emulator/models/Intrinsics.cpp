// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lowered code calls: models of LLVM's NVPTX intrinsics, and the checks that lowering put in.
#include "emulator/GlobalAccess.h"
#include "emulator/amdgpu/WaveModels.h"
#include "emulator/models/Barriers.h"
#include "emulator/models/Warp.h"

#include <cfenv>
#include <cmath>

namespace tkc::emulator {
namespace {

// ---- intrinsics; booleans come as words of which only the lowest bit counts

template <Shuffle Mode> uint32_t shuffleIntrinsic(uint32_t mask, uint32_t x, uint32_t b, uint32_t c) {
  return shuffle(Mode, mask, x, b, c).value;
}
template <Vote Kind> uint32_t voteIntrinsic(uint32_t mask, uint32_t predicate) {
  return vote(Kind, mask, (predicate & 1) != 0);
}
void syncWarpIntrinsic(uint32_t mask) { warpBarrier(current(), mask); }
void syncBlockIntrinsic(uint32_t id) { blockBarrier(id, 0); }
void syncThreadsIntrinsic(uint32_t id, uint32_t threads) { blockBarrier(id, threads); }
uint32_t activeMask() { return current().block->warps[current().warp()].existing; }
void fenceIntrinsic() {}
void fenceForAll() { current().fencedForAll = true; }

float towardsZero(double x) {
  const auto nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0f) : nearest;
}

/// Four bytes of eight, by selectors of four bits; the highest of which would spread the byte's sign.
uint32_t permuteBytes(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = uint64_t(y) << 32 | x;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t which = selector >> (4 * i) & 15;
    const auto byte = static_cast<uint32_t>(bytes >> (8 * (which & 7)) & 0xff);
    result |= (which & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}

template <class F> void *address(F *function) { return reinterpret_cast<void *>(function); }

const IntrinsicModel intrinsics[] = {
    {"llvm.nvvm.shfl.sync.idx.i32", address(shuffleIntrinsic<Shuffle::Index>)},
    {"llvm.nvvm.shfl.sync.up.i32", address(shuffleIntrinsic<Shuffle::Up>)},
    {"llvm.nvvm.shfl.sync.down.i32", address(shuffleIntrinsic<Shuffle::Down>)},
    {"llvm.nvvm.shfl.sync.bfly.i32", address(shuffleIntrinsic<Shuffle::Butterfly>)},
    {"llvm.nvvm.vote.all.sync", address(voteIntrinsic<Vote::All>)},
    {"llvm.nvvm.vote.any.sync", address(voteIntrinsic<Vote::Any>)},
    {"llvm.nvvm.vote.ballot.sync", address(voteIntrinsic<Vote::Ballot>)},
    {"llvm.nvvm.bar.warp.sync", address(syncWarpIntrinsic)},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", address(syncBlockIntrinsic)},
    {"llvm.nvvm.barrier.cta.sync.aligned.count", address(syncThreadsIntrinsic)},
    {"llvm.nvvm.activemask", address(activeMask)},
    {"llvm.nvvm.membar.gl", address(fenceForAll)},
    {"llvm.nvvm.membar.cta", address(fenceIntrinsic)},
    {"llvm.nvvm.membar.sys", address(fenceForAll)},
    {"llvm.nvvm.d2f.rz", address(towardsZero)},
    {"llvm.nvvm.prmt", address(permuteBytes)},
};

// ---- support

void run(const BoundInstruction *instruction, uint64_t *slots) {
  checkDoubtfulWrite();
  current().site = instruction->site;
  instruction->model->run(*instruction, slots);
}

void at(SiteId site) { current().site = site; }

void access(uint64_t pointer, uint64_t bytes, uint32_t packed, SiteId site) {
  Thread &thread = current();
  if (bytes == 0 || (pointer >= thread.stackBegin && pointer + bytes <= thread.stackEnd))
    return;
  const auto kind = static_cast<AccessKind>(packed & 7);
  checkedAccess(thread, pointer, bytes, packed >> 3, kind, site);
  if (thread.fencedForAll && (kind == AccessKind::Atomic || kind == AccessKind::StrongWrite))
    releaseToOthers(thread, pointer);
}

void acquireAt(uint64_t pointer) { acquireFromOthers(current(), pointer); }

uint64_t special(uint32_t number) { return readSpecialRegister(current(), static_cast<int>(number)); }
uint64_t sharedAddress(uint32_t offset) { return current().block->shared.begin() + offset; }
void yield() { current().block->cluster.yield(current()); }
uint32_t pin(uint32_t bits, uint32_t isFloat) { return resolvePending(current(), bits, isFloat != 0); }
uint32_t use(uint32_t bits, uint32_t isFloat, SiteId site) { return useValue(current(), bits, isFloat != 0, site); }
void trap() { reportError(current().site, "trap"); }

const Support support[] = {
    {"tkc_run", address(run)},
    {"tkc_at", address(at)},
    {"tkc_access", address(access)},
    {"tkc_acquire", address(acquireAt)},
    {"tkc_special_register", address(special)},
    {"tkc_shared", address(sharedAddress)},
    {"tkc_yield", address(yield)},
    {"tkc_pin", address(pin)},
    {"tkc_use", address(use)},
    {"tkc_trap", address(trap)},
    {"tkc_run_wave", address(runWaveInstruction)},
};

} // namespace

std::span<const IntrinsicModel> intrinsicModels() { return intrinsics; }
std::span<const Support> supportFunctions() { return support; }

} // namespace tkc::emulator
