// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels did, by place in the source: accesses to shared memory with the bank conflicts that the hardware would
// have, and multiply-adds of matrix instructions. `tkc-emulate --counts` writes it down.
#pragma once

#include "emulator/Sites.h"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tkc::emulator {

struct Thread;

/// Accesses of warps by one instruction. Shared memory has 32 banks of 4 bytes and serves 128 bytes at once: 32 lanes
/// of up to 4 bytes, 16 of 8, 8 of 16 (CUDA C++ Programming Guide, "Shared Memory"); AMD's is amdgpu/LdsBanks.h's.
/// Lanes that want different words of one bank are served one after another.
struct SharedCount {
  uint64_t accesses = 0; ///< by a warp
  uint64_t served = 0;   ///< times that the banks were busy
  uint64_t least = 0;    ///< how often without conflicts
};

/// Of all launches of a program.
class Counters {
public:
  struct Key {
    std::string kernel;
    SiteId site;
    bool writes;
    uint32_t bytes; ///< of a lane
    friend auto operator<=>(const Key &, const Key &) = default;
  };

  void add(const Key &key, const SharedCount &count);
  void addProducts(const std::string &kernel, uint64_t instructions, uint64_t multiplyAdds);
  /// As JSON: {"products": [{kernel, instructions, multiplyAdds}], "shared": [{kernel, line, place, writes, bytes,
  /// accesses, served, least}]}; `line` is the .tk file's, "gemm.tk:9".
  std::string print(const Sites &sites) const;

private:
  struct Products {
    uint64_t instructions = 0, multiplyAdds = 0;
  };
  mutable std::mutex mutex;
  std::map<Key, SharedCount> shared;
  std::map<std::string, Products> products;
};

/// Of the blocks of one cluster; what it counted goes into the sum when it ends. Threads run one by one here, so lanes
/// are put together again: the nth execution of an instruction by each lane of a warp is one access of the warp.
class ClusterCounters {
public:
  ClusterCounters(Counters &sum, std::string kernel) : sum(sum), kernel(std::move(kernel)) {}
  ~ClusterCounters();

  void access(const Thread &thread, uint32_t address, uint32_t bytes, bool writes, SiteId site);
  void product(uint64_t multiplyAdds) { ++instructions, this->multiplyAdds += multiplyAdds; }

private:
  static constexpr uint32_t maxLanes = 64;
  struct Access {
    uint32_t addresses[maxLanes];
    uint64_t lanes = 0;
  };
  /// One instruction in one warp.
  struct Stream {
    bool writes = false;
    uint32_t bytes = 0, banks = 32;
    std::vector<uint64_t> together;     ///< lanes that are served at once
    uint64_t existing = 0;              ///< lanes
    uint32_t executions[maxLanes] = {}; ///< by lane
    uint32_t first = 0;                 ///< number of the first in `open`
    std::deque<Access> open;            ///< some lanes have not come to
    SharedCount count;
  };
  static void start(Stream &stream, const Thread &thread, uint32_t bytes, bool writes);
  static void serve(Stream &stream, const Access &access);

  Counters &sum;
  std::string kernel;
  uint64_t instructions = 0, multiplyAdds = 0;
  std::unordered_map<uint64_t, Stream> streams; ///< by warp of the cluster, and site
};

} // namespace tkc::emulator
