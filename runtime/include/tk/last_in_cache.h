// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of what L2 should evict last. Source: PTX ISA, "ld", .L2::cache_hint; "createpolicy".
#pragma once

#include "tk/words.h"

namespace tk {

/// For load(): tensors that blocks which come much later read again, while others stream by.
struct last_in_cache {
  template <int Words> static __device__ __forceinline__ void load(const void *from, u32 *words) {
    const size_t address = __cvta_generic_to_global(from);
    u64 policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    if constexpr (Words == 4)
      asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "l"(address), "l"(policy)
                   : "memory");
    else if constexpr (Words == 2)
      asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                   : "=r"(words[0]), "=r"(words[1])
                   : "l"(address), "l"(policy)
                   : "memory");
    else
      asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
                   : "=r"(words[0])
                   : "l"(address), "l"(policy)
                   : "memory");
  }
};

} // namespace tk
