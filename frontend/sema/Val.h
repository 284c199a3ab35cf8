// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an expression of a kernel means while it is elaborated: a number known when compiling, an SSA value, a tensor
// that is yet to be sliced, or an error that absorbs whatever uses it.
#pragma once

#include "ir/TileIR.h"

#include <string>
#include <vector>

namespace tkc::sema {

struct Val {
  enum class Kind : uint8_t { Error, Const, Value, Tensor, Tuple, Scaled } kind = Kind::Error;

  // Const: integers and bools are exact in a double.
  ElemType elem = ElemType::I32;
  double number = 0;
  bool isWeak = true; ///< takes the other operand's type; false after a cast

  ir::Value *value = nullptr; ///< Value; Scaled: the tile
  int64_t divisor = 1;        ///< Value that is a tile index: `k / 32`
  std::string tensor;         ///< Tensor: the parameter
  std::vector<Val> elements;  ///< Tuple: what a function with several results returns

  // Scaled: operands of `@` alone.
  ir::Value *scales = nullptr;
  bool isScaledDown = false; ///< a scale for a block of rows, not of columns

  static Val error() { return {}; }
  static Val ofValue(ir::Value *value) {
    Val result;
    result.kind = value ? Kind::Value : Kind::Error;
    result.value = value;
    return result;
  }
  static Val ofScaled(ir::Value *tile, ir::Value *scales, bool down) {
    Val result;
    result.kind = Kind::Scaled;
    result.value = tile;
    result.scales = scales;
    result.isScaledDown = down;
    return result;
  }
  static Val constant(ElemType elem, double number, bool isWeak = true) {
    Val result;
    result.kind = Kind::Const;
    result.elem = elem;
    result.number = number;
    result.isWeak = isWeak;
    return result;
  }
  static Val integer(int64_t number) { return constant(ElemType::I32, static_cast<double>(number)); }
  static Val boolean(bool value) { return constant(ElemType::Bool, value); }
  static Val ofTensor(std::string name) {
    Val result;
    result.kind = Kind::Tensor;
    result.tensor = std::move(name);
    return result;
  }
  static Val tuple(std::vector<Val> elements) {
    Val result;
    result.kind = Kind::Tuple;
    result.elements = std::move(elements);
    return result;
  }

  bool isError() const { return kind == Kind::Error; }
  bool isConst() const { return kind == Kind::Const; }
  bool isValue() const { return kind == Kind::Value; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isScaled() const { return kind == Kind::Scaled; }
  bool isInteger() const { return isConst() && elem == ElemType::I32; }
  bool isTileIndex() const { return isValue() && value->type.kind == ir::Type::TileIndex; }

  /// Of a Const or a Value.
  ir::Type type() const { return isConst() ? ir::Type::scalar(elem) : value->type; }
};

/// "`bf16` tile of 128×64", "`f32` column of 128", "`i32` scalar", "tile index", for messages.
std::string describe(const ir::Type &type);
std::string describe(const Val &val);
/// "128×64"; scalars are "1×1".
std::string shapeText(const ir::Type &type);

} // namespace tkc::sema
