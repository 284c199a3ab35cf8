// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the runtime spells types and names.
#pragma once

#include "ir/plan/PlanIR.h"

#include <string>

namespace tkc {
class SourceManager;
}

namespace tkc::cuda {

/// "tk::bf16", "float", "int"
std::string elementType(ElemType type);
/// "tk::mma_layout", "tk::row_layout<256, 128, 8>"
std::string layoutType(const plan::Layout &layout, ElemType elem);
/// The part of a variable that one instance of its role holds: "tk::fragment<float, 64, 256, tk::mma_layout>".
std::string variableType(const plan::VarType &type, int instances);
/// An element as it lies in shared memory: packed ones by pairs, those of six bits with padding.
std::string storedType(ElemType type);
/// How many of these so many elements are.
int64_t storedCount(ElemType type, int64_t elements);
/// "tk::shared_tile<tk::bf16, 128, 64>", or a shared_vector where the buffer has one row or one column, unless
/// `isTile`: a tile in any case.
std::string bufferType(const plan::Buffer &buffer, int64_t rows, bool isTile = false);

/// Rows and columns of the part that one instance holds.
int64_t partRows(const plan::VarType &type, int instances);
int64_t partCols(const plan::VarType &type, int instances);

/// A plan's name as an identifier: "ab.full" → "ab_full", "short" → "short_".
std::string identifier(std::string_view name);
/// The function that stands for a kernel or program: its name, with a `_` behind where C or CUDA has such a function.
std::string entryName(std::string_view name);
/// "gemm.tk:9", without the folder, so that the emitted file does not depend on where it was made.
std::string fileLine(const SourceManager &sources, SourceLoc loc);

} // namespace tkc::cuda
