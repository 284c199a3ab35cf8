// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/emit/kernel/RolePrinter.h"

namespace tkc::cuda {

/// One axis of a tile in a tensor.
struct RolePrinter::Axis {
  int dim = -1;    ///< of the tensor; -1: the view has no such axis
  cpp::Expr begin; ///< global index of the part's first element
  cpp::Expr first; ///< first element of the part that exists, from its start; empty: 0
  cpp::Expr end;   ///< one past the last
  int align = 1;   ///< begins and ends at multiples of so many bytes, at most 16, where the tensor is wide
};

/// The rectangle that an access covers.
struct RolePrinter::ViewParts {
  const ir::Param *param = nullptr;
  bool isStored = false;
  bool isCopied = false;         ///< to shared memory: as of a tensor that is only read
  cpp::Expr only;                ///< of which threads it is; empty: of all
  std::vector<cpp::Expr> origin; ///< index of the first element in each dim
  Axis rows, cols;
};

} // namespace tkc::cuda
