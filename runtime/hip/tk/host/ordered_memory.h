// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What functions for other frameworks need of the runtime beyond api.h. Each kind of GPU has this header of its own.
#pragma once

#include "tk/host/api.h"

namespace tk::api {

inline error set_device(int id) { return hipSetDevice(id); }

/// Memory that is there for what comes later on the stream, and is given back behind what came before.
inline error allocate_in_order(void *&block, size_t bytes, stream on) { return hipMallocAsync(&block, bytes, on); }
inline error release_in_order(void *block, stream on) { return hipFreeAsync(block, on); }

} // namespace tk::api
