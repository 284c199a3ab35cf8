// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which GPU has which instruction: the emulator's table against lists that ptxas confirms (test/golden-data).
#include "emulator/InstructionSets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

using namespace tkc::emulator;

/// Commas outside of brackets, and one; none where nothing follows the opcode.
size_t operandsIn(std::string_view text) {
  size_t commas = 0;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    commas += c == ',' && depth == 0;
  }
  return text.find_first_not_of(" ;") == std::string_view::npos ? 0 : commas + 1;
}

TEST(InstructionSets, AreAsPtxasSays) {
  std::ifstream file(TKC_SOURCE_DIR "/test/golden-data/instruction-sets.txt");
  size_t seen = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#"))
      continue;
    const size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    const std::string gpus = " " + line.substr(0, colon) + " ";
    const std::string text = line.substr(line.find_first_not_of(' ', colon + 1));
    const size_t end = text.find_first_of(" ;");
    const std::string opcode = text.substr(0, end);
    const size_t reg = text.find("%cluster");
    for (const std::string gpu : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"}) {
      const bool has = gpus.find(" " + gpu + " ") != std::string::npos;
      std::optional<std::string> lack = lackOf(gpu, opcode, operandsIn(text.substr(end)));
      if (!lack && reg != std::string::npos)
        lack = lackOfRegister(gpu, text.substr(reg + 1));
      EXPECT_EQ(!lack, has) << gpu << ": " << text << ": " << lack.value_or("taken");
      ++seen;
    }
  }
  EXPECT_GT(seen, 1000u);
}

TEST(InstructionSets, NameTheGpusThatHaveIt) {
  EXPECT_EQ(lackOf("sm_80", "red.global.add.noftz.bf16", 2),
            "sm_80 has no `red.global.add.noftz.bf16`; it needs sm_90 or later (PTX ISA, \"red\")");
  EXPECT_EQ(lackOf("sm_103a", "tcgen05.mma.cta_group::1.kind::i8", 5),
            "sm_103a has no `tcgen05.mma.cta_group::1.kind::i8`; it needs sm_100a (PTX ISA, \"tcgen05.mma\")");
  EXPECT_EQ(lackOf("sm_90", "setmaxnreg.inc.sync.aligned.u32", 1),
            "sm_90 has no `setmaxnreg.inc.sync.aligned.u32`; it needs sm_90a or sm_100a or sm_103a or sm_120a or "
            "sm_121a (PTX ISA, \"setmaxnreg\")");
}

} // namespace
