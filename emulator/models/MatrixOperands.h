// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of operands of matrix instructions lie: of wgmma in shared memory by a descriptor, and in
// registers, of wgmma in four warps, of mma.sync in one. Source: PTX ISA, "Asynchronous wgmma instructions": "Matrix
// Descriptor Format", "Canonical Layouts", "Register Fragments"; "Warp-level matrix instructions", "Matrix Fragments
// for mma".
#pragma once

#include <cstdint>

namespace tkc::emulator {

struct MatrixDescriptor {
  uint32_t start;   ///< bytes within the block's 256 KiB
  uint32_t leading; ///< bytes
  uint32_t stride;  ///< bytes
  uint32_t base;    ///< the base offset field
  uint32_t swizzle; ///< bytes of its span; 0: none

  static MatrixDescriptor decode(uint64_t bits) {
    constexpr uint32_t spans[] = {0, 128, 64, 32};
    const auto field = [&](int shift) { return static_cast<uint32_t>(bits >> shift & 0x3fff) << 4; };
    return {field(0), field(16), field(32), static_cast<uint32_t>(bits >> 49 & 7), spans[bits >> 62]};
  }

  /// Whether the operand begins in the first row of a swizzle atom, of eight rows; one that begins further down says so
  /// by the base offset, which has no model.
  bool beginsInAtom() const { return swizzle == 0 || start % (8 * swizzle) < swizzle; }

  /// Byte offset of element (mn, k), of `size` bytes, in the block's shared memory.
  uint32_t offset(uint32_t mn, uint32_t k, uint32_t size, bool mnMajor) const {
    const uint32_t perChunk = 16 / size;
    uint32_t at = start;
    if (!mnMajor) { // 8 rows of mn are an atom; the chunks of a row are neighbours, but without a swizzle
      const uint32_t rowPitch = swizzle ? swizzle : 16, chunkPitch = swizzle ? 16 : leading;
      at += mn % 8 * rowPitch + mn / 8 * stride + k / perChunk * chunkPitch + k % perChunk * size;
    } else if (swizzle) { // rows of k, each a span of mn
      const uint32_t perSpan = swizzle / size;
      at += mn % perSpan * size + mn / perSpan * leading + k % 8 * swizzle + k / 8 * stride;
    } else {
      at += mn % perChunk * size + mn / perChunk * stride + k % 8 * 16 + k / 8 * leading;
    }
    return swizzle ? at ^ ((at >> 7 & (swizzle / 16 - 1)) << 4) : at;
  }
};

/// Place of an accumulator's register of a thread of the warpgroup.
struct Place {
  uint32_t row, col;
};
inline Place accumulatorPlace(uint32_t thread, uint32_t value) {
  const uint32_t lane = thread % 32;
  return {thread / 32 * 16 + lane / 4 + value / 2 % 2 * 8, lane % 4 * 2 + value % 2 + value / 4 * 8};
}

/// Place of element `i`, counted through the registers, of an A operand; elements of `size` bytes.
inline Place operandPlace(uint32_t thread, uint32_t i, uint32_t size) {
  const uint32_t lane = thread % 32, perRegister = 4 / size;
  const uint32_t reg = i / perRegister;
  return {thread / 32 * 16 + lane / 4 + reg % 2 * 8,
          lane % 4 * perRegister + i % perRegister + reg / 2 * 4 * perRegister};
}

/// The same of mma.sync's B operand: a column of the product, and k.
inline Place rightOperandPlace(uint32_t lane, uint32_t i, uint32_t size) {
  const uint32_t perRegister = 4 / size;
  return {lane / 4, lane % 4 * perRegister + i % perRegister + i / perRegister * 4 * perRegister};
}

/// The lane that brings the scales of a row of mma.sync's A, by the pair of lanes of each quad that is named, and of a
/// column of B. PTX ISA, "Block Scaling for mma.sync".
inline uint32_t rowScaleLane(uint32_t row, uint32_t pair) { return row % 8 * 4 + pair * 2 + row / 8; }
inline uint32_t columnScaleLane(uint32_t col, uint32_t lane) { return col * 4 + lane; }

} // namespace tkc::emulator
