// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/targets/NativeGpus.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::arch;

TEST(NativeGpus, VersionsNumberAreHexadecimalDigits) {
  EXPECT_EQ(gfxName(90010), "gfx90a");
  EXPECT_EQ(gfxName(90402), "gfx942");
  EXPECT_EQ(gfxName(90500), "gfx950");
  EXPECT_EQ(gfxName(110001), "gfx1101");
}

TEST(NativeGpus, NodesOfTheKernelDriverAreReadInOrderAndProcessorsSkipped) {
  const std::filesystem::path nodes = std::filesystem::path(testing::TempDir()) / "tkc_kfd_nodes";
  const char *versions[] = {"0", "90402", "90500"};
  for (int node = 0; node < 3; ++node) {
    std::filesystem::create_directories(nodes / std::to_string(node));
    std::ofstream(nodes / std::to_string(node) / "properties")
        << "cpu_cores_count 0\ngfx_target_version " << versions[node] << "\nvendor_id 4098\n";
  }
  const std::vector<NativeGpu> gpus = amdGpus(nodes.string());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].describe(), "gfx942");
  EXPECT_EQ(gpus[1].describe(), "gfx950");
  EXPECT_TRUE(amdGpus((nodes / "nothing").string()).empty());
}

TEST(NativeGpus, WhatNvidiaSmiListsIsReadAndWhatItDoesNotKnowSkipped) {
  const std::vector<NvidiaGpu> gpus = listedNvidiaGpus(
      "9.0, NVIDIA H100 80GB HBM3\n[N/A], NVIDIA A100\n12.0, NVIDIA RTX PRO 6000\nNo devices were found\n");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[1].major, 12);
  EXPECT_EQ(gpus[1].minor, 0);
  EXPECT_TRUE(listedNvidiaGpus("").empty());
}

TEST(NativeGpus, TheMostCapableCodeThatRunsIsTaken) {
  EXPECT_EQ(bestTarget({Language::Cuda, 8, 0})->name, "sm_80");
  EXPECT_EQ(bestTarget({Language::Cuda, 8, 7})->name, "sm_86");
  EXPECT_EQ(bestTarget({Language::Cuda, 9, 0})->name, "sm_90a");
  EXPECT_EQ(bestTarget({Language::Cuda, 12, 1})->name, "sm_89"); // code for Hopper does not run there
  EXPECT_EQ(bestTarget({Language::Cuda, 7, 5}), nullptr);
  EXPECT_EQ(bestTarget({Language::Hip, 0, 0, "gfx906"}), nullptr);
}
