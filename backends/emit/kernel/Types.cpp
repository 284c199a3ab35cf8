// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/Types.h"

#include "backends/cpp/Cpp.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>

namespace tkc::cuda {

std::string elementType(ElemType type) {
  switch (type) {
  case ElemType::F64:
    return "double";
  case ElemType::F32:
    return "float";
  case ElemType::TF32:
    return "tk::tf32";
  case ElemType::F16:
    return "tk::half";
  case ElemType::BF16:
    return "tk::bf16";
  case ElemType::F8E4M3:
    return "tk::f8e4m3";
  case ElemType::F8E5M2:
    return "tk::f8e5m2";
  case ElemType::F8E8M0:
    return "tk::f8e8m0";
  case ElemType::F4E2M1:
    return "tk::f4e2m1";
  case ElemType::F6E2M3:
    return "tk::f6e2m3";
  case ElemType::F6E3M2:
    return "tk::f6e3m2";
  case ElemType::I64:
    return "tk::i64";
  case ElemType::I32:
    return "int";
  case ElemType::I8:
    return "tk::i8";
  case ElemType::U8:
    return "tk::u8";
  case ElemType::I4:
    return "tk::i4";
  case ElemType::U4:
    return "tk::u4";
  case ElemType::Bool:
    return "bool";
  }
  return {};
}

std::string storedType(ElemType type) {
  return elementType(type) + (isFloat6(type) ? "_padded" : isPacked(type) ? "_pair" : "");
}

int64_t storedCount(ElemType type, int64_t elements) {
  return isPacked(type) && !isFloat6(type) ? elements / 2 : elements;
}

std::string layoutType(const plan::Layout &layout, ElemType elem) {
  if (layout.kind == plan::Layout::Mma)
    return "tk::mma_layout";
  if (layout.kind == plan::Layout::Tensor)
    return "tk::tensor_layout";
  if (layout.kind == plan::Layout::Operand)
    return fmt::format("tk::operand_layout<{}>", byteWidth(elem));
  if (layout.kind == plan::Layout::WarpMma)
    return fmt::format("tk::warp_mma_layout<{}>", layout.threads / 32);
  if (layout.kind == plan::Layout::Mfma)
    return fmt::format("tk::mfma_layout<{}, {}{}>", layout.threads / 64, plan::blockSide(layout),
                       layout.vec == 4 ? "" : fmt::format(", {}", layout.vec));
  return fmt::format("tk::row_layout<{}, {}, {}>", layout.threads, layout.threadsPerRow, layout.vec);
}

int64_t partRows(const plan::VarType &type, int instances) {
  return type.division == plan::Division::Rows ? type.rows / instances : type.rows;
}
int64_t partCols(const plan::VarType &type, int instances) {
  return type.division == plan::Division::Cols ? type.cols / instances : type.cols;
}

std::string variableType(const plan::VarType &type, int instances) {
  const std::string elem = elementType(type.elem);
  switch (type.kind) {
  case plan::VarType::Scalar:
    return elem;
  case plan::VarType::TileIndex:
    return "tk::tile_index";
  case plan::VarType::Fragment:
    return fmt::format("tk::fragment<{}, {}, {}, {}>", elem, partRows(type, instances), partCols(type, instances),
                       layoutType(type.layout, type.elem));
  case plan::VarType::Column:
    return fmt::format("tk::column<{}, {}, {}>", elem, partRows(type, instances), layoutType(type.layout, type.elem));
  case plan::VarType::Row:
    return fmt::format("tk::row<{}, {}, {}>", elem, partCols(type, instances), layoutType(type.layout, type.elem));
  case plan::VarType::Share:
    return fmt::format("tk::{}share<{}, {}, {}, {}{}>",
                       type.layout.vec == 1  ? "scale_"
                       : isFloat6(type.elem) ? "padded_"
                                             : "",
                       storedType(type.elem), type.rows, storedCount(type.elem, type.cols), type.layout.threads,
                       type.layout.threadsPerRow == 1 ? ", true" : "");
  case plan::VarType::Cursor:
    return fmt::format("tk::ring<{}>", type.rows);
  }
  return {};
}

std::string bufferType(const plan::Buffer &buffer, int64_t rows, bool isTile) {
  const std::string elem = storedType(buffer.elem);
  const int64_t cols = storedCount(buffer.elem, buffer.cols);
  if (!isTile && (rows == 1 || buffer.cols == 1))
    return fmt::format("tk::shared_vector<{}, {}>", elem, rows * cols);
  const int64_t swizzle = plan::bytes(buffer.swizzle);
  std::string others; // where they are not the defaults
  if (swizzle != 128 || buffer.grain != plan::Buffer().grain)
    others = fmt::format(", {}", swizzle);
  if (buffer.grain != plan::Buffer().grain)
    others += fmt::format(", {}", buffer.grain);
  return fmt::format("tk::shared_tile<{}, {}, {}{}>", elem, rows, cols, others);
}

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())))
    text.insert(0, "_");
  // Whatever ends in underscores behind such a name gets one more, so that no two names become one.
  if (cpp::isOfCompiler(std::string_view(text).substr(0, text.find_last_not_of('_') + 1)))
    text += '_';
  return text;
}

std::string entryName(std::string_view name) {
  std::string text = identifier(name);
  const std::string_view base = std::string_view(text).substr(0, text.find_last_not_of('_') + 1);
  // Entries with workspace are called for the kernel or the program.
  const bool isOfOther = base.ends_with("_workspace_bytes") || base.ends_with("_with_workspace");
  if (!cpp::isOfCompiler(base) && (cpp::isGlobal(base) || isOfOther))
    text += '_';
  return text;
}

std::string fileLine(const SourceManager &sources, SourceLoc loc) {
  const std::string text = sources.fileLine(loc);
  return text.substr(text.find_last_of('/') + 1);
}

} // namespace tkc::cuda
