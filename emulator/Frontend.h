// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A .cu or .hip file to LLVM IR: Clang compiles it twice, for the GPU and for the host, as nvcc and hipcc do. Neither
// needs a toolkit: the headers of shim/ say what Clang does not know by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tkc::emulator {

struct CompiledFile {
  CompiledFile();
  CompiledFile(CompiledFile &&) noexcept;
  ~CompiledFile();

  std::unique_ptr<llvm::LLVMContext> deviceContext, hostContext;
  std::unique_ptr<llvm::Module> device; ///< for nvptx64 or amdgcn, not optimised
  std::unique_ptr<llvm::Module> host;
  std::string errors; ///< what Clang has to say against the file; empty if it compiled
};

struct FrontendOptions {
  std::string arch = "sm_90a"; ///< or "gfx942", which says as well that the file is HIP
  std::vector<std::string> includePaths;
  std::string shim;             ///< the folder of the shim headers
  std::string clang;            ///< the path of the Clang whose headers and defaults are used
  std::string cache;            ///< a folder that keeps the precompiled headers, or empty for none
  bool compileAtLaunch = false; ///< each kernel when it is first launched, rather than all in parallel before that

  bool isHip() const { return arch.starts_with("gfx"); }
};

/// Both compilations, side by side.
CompiledFile compileFile(const std::string &path, const FrontendOptions &options);

} // namespace tkc::emulator
