// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "add.h"
#include "scale.h"

tk_status both(const tk::tensor &x, const tk::tensor &y, const tk::tensor &z) {
  const tk_status status = scale(x, y);
  return status.code == TK_OK ? add(x, y, z) : status;
}
