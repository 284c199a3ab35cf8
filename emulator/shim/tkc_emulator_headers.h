// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every emitted file and every program of cases includes. The emulator lets Clang compile this once for each GPU
// and side, and begins each file from there (Frontend.cpp): a third of a small program's time went into these headers.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#else
#include "tkc_emulator_prelude.h"
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>
