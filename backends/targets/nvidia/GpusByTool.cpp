// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/NativeGpus.h"

#include <cstdio>

namespace tkc::arch {

/// By the tool that comes with NVIDIA's driver, for programs that can load no library.
std::vector<NvidiaGpu> nvidiaGpus() {
  std::string lines;
  FILE *tool = popen("nvidia-smi --query-gpu=compute_cap,name --format=csv,noheader 2>/dev/null", "r");
  if (!tool)
    return {};
  char text[256];
  while (std::fgets(text, sizeof text, tool))
    lines += text;
  return pclose(tool) == 0 ? listedNvidiaGpus(lines) : std::vector<NvidiaGpu>();
}

} // namespace tkc::arch
