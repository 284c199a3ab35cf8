// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A case as one binary file, which a generated test program reads: what to pass to a kernel as bytes ready for the
// device, and what must come out. Everything is little-endian, one thing after another without padding:
//
//   "TKCASE2\n"                                                          8 bytes
//   u32 number of scalars, and for each
//     string name; u32 element type; f64 value, or i64 of i64
//   u32 number of tensors, and for each, in the order of the parameters,
//     string name; u32 element type; u32 role (0 in, 1 out, 2 inout; 3: left out, and nothing follows)
//     u32 rank; i64 dims[rank]; i64 strides[rank] (elements; the last is 1)
//     u64 bytes of its memory; u32 what it holds before the call:
//         0: u8 memory[bytes] follows; 1: the byte 0xA5 throughout; 2: random elements, made from a u64 seed that
//         follows
//     unless in: u64 number of elements; f64 expected[], or i64 of i64; f64 tolerance[]   row-major
//
// A string is a u32 length and its bytes. Element types are numbered as tkc::ElemType. Memory that is no element of an
// input, between padded rows, and all memory of an output is filled with the byte 0xA5; after the call every byte that
// is no element of an output must still be what it was.
#pragma once

#include "harness/Expected.h"

#include <cstdint>
#include <string>

namespace tkc::harness {

/// The bytes of the file. `expected` may be empty where a case has no reference.
std::string encodeCase(const PreparedCase &prepared, const Expected &expected);

/// Strides in elements of a tensor that lies in memory as `layout` says; the last dim is contiguous.
std::vector<int64_t> stridesOf(const std::vector<int64_t> &dims, const Layout &layout);

/// CallArguments::alignments of a tensor whose first element lies `offset` elements after such a multiple.
int64_t alignmentOf(ElemType elem, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                    int64_t offset = 0);

/// The bits of a number that `elem` represents exactly, as a device keeps it, in the low bytes.
uint64_t encodeElement(ElemType elem, Number number);
/// The inverse; NaN for every NaN.
double decodeElement(ElemType elem, uint64_t bits);

} // namespace tkc::harness
