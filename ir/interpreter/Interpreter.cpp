// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the blocks of the grid, then runs them on every core. Of several errors the one of the first block is reported,
// as far as blocks got before all stopped.
#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/Worker.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <mutex>

namespace tkc::ir {
namespace interpreter {

std::vector<int64_t> rowMajor(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  return strides;
}

Memory layOut(const Function &function, CallArguments &arguments) {
  Memory memory;
  for (const Param &param : function.params) {
    TensorMemory entry;
    entry.param = &param;
    auto found = arguments.tensors.find(param.name);
    if (param.isTensor && param.isPresent && found != arguments.tensors.end()) {
      Tensor &tensor = found->second;
      entry.tensor = &tensor;
      entry.strides = rowMajor(tensor.dims);
      const size_t count = static_cast<size_t>(tensor.numElements());
      if (param.mode == ParamMode::Out) {
        tensor.resize(count);
        tensor.poison();
      }
      if (param.mode != ParamMode::In)
        entry.owners = std::make_unique<std::atomic<uint32_t>[]>(count);
    }
    memory.tensors.push_back(std::move(entry));
  }
  return memory;
}

} // namespace interpreter

using namespace interpreter;

/// Each thread has as much. No GPU's registers and shared memory come near.
static constexpr int64_t maxWorkerBytes = int64_t{1} << 28;

std::optional<RuntimeError> interpret(const Function &function, CallArguments &arguments,
                                      const InterpretOptions &options) {
  const Program program = compile(function, options.padded);
  if (program.memoryBytes > maxWorkerBytes)
    return RuntimeError{function.loc, fmt::format("the tiles of one block of `{}` take {} bytes, more than the {} that "
                                                  "the interpreter gives them",
                                                  function.kernel, program.memoryBytes, maxWorkerBytes)};
  Memory memory = layOut(function, arguments);
  std::vector<Position> coordinates;
  size_t depth = 0;
  {
    Worker worker(program, memory, arguments);
    if (!worker.enumerateGrid(coordinates, depth))
      return worker.error();
  }
  const bool hasGrid = program.body.hasParallel;
  const size_t numBlocks = hasGrid ? (depth ? coordinates.size() / depth : 0) : 1;
  if (numBlocks == 0)
    return std::nullopt;

  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  size_t failedBlock = std::numeric_limits<size_t>::max();
  std::optional<RuntimeError> error;
  auto work = [&] {
    Worker worker(program, memory, arguments);
    for (size_t block = next++; block < numBlocks && !stop; block = next++) {
      if (worker.runBlock(coordinates.data() + block * depth, static_cast<uint32_t>(block + 1)))
        continue;
      stop = true;
      std::lock_guard lock(mutex);
      if (block < failedBlock) {
        failedBlock = block;
        error = worker.error();
      }
      return;
    }
  };
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  const size_t numThreads = std::min<size_t>(pool.getMaxConcurrency(), numBlocks);
  for (size_t i = 0; i < numThreads; ++i)
    pool.async(work);
  pool.wait();
  return error;
}

} // namespace tkc::ir
