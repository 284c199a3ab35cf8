// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Counters.h"

#include "emulator/Machine.h"
#include "emulator/amdgpu/LdsBanks.h"
#include "emulator/amdgpu/Wave.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <bit>
#include <set>

namespace tkc::emulator {
namespace {

constexpr uint32_t bankBytes = 4, maxBanks = 64;

/// How often the banks have to be busy for these lanes: the most different words that one bank is asked for.
uint32_t timesBusy(const uint32_t *addresses, uint64_t lanes, uint32_t bytes, uint32_t banks) {
  std::set<uint32_t> words[maxBanks];
  for (uint32_t lane = 0; lane < 64; ++lane)
    if (lanes >> lane & 1)
      for (uint32_t word = addresses[lane] / bankBytes; word <= (addresses[lane] + bytes - 1) / bankBytes; ++word)
        words[word % banks].insert(word);
  size_t most = 0;
  for (const std::set<uint32_t> &bank : words)
    most = std::max(most, bank.size());
  return static_cast<uint32_t>(most);
}

} // namespace

void Counters::add(const Key &key, const SharedCount &count) {
  const std::lock_guard lock(mutex);
  SharedCount &to = shared[key];
  to.accesses += count.accesses, to.served += count.served, to.least += count.least;
}

void Counters::addProducts(const std::string &kernel, uint64_t instructions, uint64_t multiplyAdds) {
  const std::lock_guard lock(mutex);
  products[kernel].instructions += instructions;
  products[kernel].multiplyAdds += multiplyAdds;
}

std::string Counters::print(const Sites &sites) const {
  const std::lock_guard lock(mutex);
  llvm::json::Array productRows, sharedRows;
  for (const auto &[name, count] : products)
    productRows.push_back(llvm::json::Object{
        {"kernel", name}, {"instructions", count.instructions}, {"multiplyAdds", count.multiplyAdds}});
  for (const auto &[key, count] : shared)
    sharedRows.push_back(llvm::json::Object{{"kernel", key.kernel},
                                            {"line", sites.tkLine(key.site)},
                                            {"place", sites.describe(key.site)},
                                            {"writes", key.writes},
                                            {"bytes", key.bytes},
                                            {"accesses", count.accesses},
                                            {"served", count.served},
                                            {"least", count.least}});
  const llvm::json::Value all =
      llvm::json::Object{{"products", std::move(productRows)}, {"shared", std::move(sharedRows)}};
  return llvm::formatv("{0:2}\n", all).str();
}

void ClusterCounters::serve(Stream &stream, const Access &access) {
  ++stream.count.accesses;
  for (const uint64_t together : stream.together) {
    const uint64_t part = together & access.lanes;
    stream.count.served += timesBusy(access.addresses, part, stream.bytes, stream.banks);
    stream.count.least += part != 0;
  }
}

void ClusterCounters::start(Stream &stream, const Thread &thread, uint32_t bytes, bool writes) {
  const Block &block = *thread.block;
  stream.writes = writes, stream.bytes = bytes;
  if (block.waves) {
    const LdsPhases phases = ldsPhases(block.cluster.launch.options->cdna, bytes, writes);
    stream.banks = phases.banks;
    stream.together.assign(phases.lanes.begin(), phases.lanes.end());
    stream.existing = block.waves->waveOf(thread).existing;
    return;
  }
  // Rows of ldmatrix that have 12 bytes of data stand 16 apart, and come eight at a time as others do.
  const uint32_t together = std::min(32u, stream.banks * bankBytes / std::max(std::bit_ceil(bytes), bankBytes));
  for (uint32_t lane = 0; lane < 32; lane += together)
    stream.together.push_back(((uint64_t(2) << (together - 1)) - 1) << lane);
  stream.existing = block.warps[thread.warp()].existing;
}

void ClusterCounters::access(const Thread &thread, uint32_t address, uint32_t bytes, bool writes, SiteId site) {
  const bool inWave = thread.block->waves != nullptr;
  const uint64_t warp = thread.block->rank * 64 + (inWave ? thread.index / waveSize : thread.warp());
  Stream &stream = streams[warp << 32 | site];
  if (stream.existing == 0)
    start(stream, thread, bytes, writes);
  const uint32_t lane = inWave ? WaveBlock::laneOf(thread) : thread.lane();
  const uint32_t place = stream.executions[lane]++ - stream.first;
  if (place >= stream.open.size())
    stream.open.resize(place + 1);
  Access &access = stream.open[place];
  access.addresses[lane] = address;
  access.lanes |= uint64_t(1) << lane;
  while (!stream.open.empty() && stream.open.front().lanes == stream.existing) {
    serve(stream, stream.open.front());
    stream.open.pop_front();
    ++stream.first;
  }
}

ClusterCounters::~ClusterCounters() {
  for (auto &[key, stream] : streams) {
    for (const Access &access : stream.open)
      serve(stream, access);
    sum.add({kernel, static_cast<SiteId>(key), stream.writes, stream.bytes}, stream.count);
  }
  if (instructions != 0)
    sum.addProducts(kernel, instructions, multiplyAdds);
}

} // namespace tkc::emulator
