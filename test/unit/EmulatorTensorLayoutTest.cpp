// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the emulator finds the operands of tcgen05's instructions, against a table of the vendor's public headers
// (test/golden-data/tcgen05.json); and that the runtime's layouts are what loads of tensor memory give.
#include "emulator/models/TensorOperands.h"

#include "tk/layout.h"

#include <gtest/gtest.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <set>
#include <string>

namespace {

using namespace tkc::emulator;
using Row = llvm::json::Object;

const llvm::json::Object &golden() {
  static const llvm::json::Value read = [] {
    auto text = llvm::MemoryBuffer::getFile(TKC_SOURCE_DIR "/test/golden-data/tcgen05.json");
    if (!text)
      llvm::report_fatal_error("cannot read golden data");
    return llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  }();
  return *read.getAsObject();
}

/// Calls f(row) for the rows of a table; there are `least` at least.
template <class F> void forEachRow(const char *table, size_t least, F f) {
  const auto &rows = *golden().getArray(table);
  ASSERT_GE(rows.size(), least);
  for (const auto &row : rows) {
    f(*row.getAsObject());
    if (testing::Test::HasFatalFailure())
      return;
  }
}

uint32_t number(const Row &row, const char *key) { return static_cast<uint32_t>(*row.getInteger(key)); }
uint32_t number(const llvm::json::Value &value) { return static_cast<uint32_t>(*value.getAsInteger()); }
std::string text(const Row &row, const char *key) { return row.getString(key)->str(); }
uint64_t hexadecimal(const Row &row, const char *key) {
  uint64_t value = 0;
  EXPECT_FALSE(row.getString(key)->getAsInteger(0, value));
  return value;
}

/// XOR of the basis offsets of the set bits.
uint32_t combine(const llvm::json::Array &basis, uint32_t index) {
  uint32_t offset = 0;
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1)
      offset ^= number(basis[bit]);
  return offset;
}
/// The same of [lane, column, bit], added to a place.
void combine(const Row &row, const char *key, uint32_t index, TensorPlace &place) {
  const auto &basis = *row.getArray(key);
  for (unsigned bit = 0; index >> bit; ++bit)
    if (index >> bit & 1) {
      const auto &step = *basis[bit].getAsArray();
      place.lane ^= number(step[0]), place.column ^= number(step[1]), place.bit ^= number(step[2]);
    }
}
void expectPlace(TensorPlace place, TensorPlace expected, const std::string &what) {
  ASSERT_EQ(place.lane, expected.lane) << what;
  ASSERT_EQ(place.column, expected.column) << what;
  ASSERT_EQ(place.bit, expected.bit) << what;
}

const Row *tileOf(const Row &descriptor) {
  for (const auto &value : *golden().getArray("tiles")) {
    const auto &tile = *value.getAsObject();
    bool same = true;
    for (const char *key : {"type", "major", "swizzle", "MN", "K", "tile_order"})
      same = same && *tile.get(key) == *descriptor.get(key);
    if (same)
      return &tile;
  }
  return nullptr;
}

TEST(EmulatorTensorLayout, DescriptorsLeadToTheElements) {
  forEachRow("descriptors", 100, [](const Row &row) {
    const Row *tile = tileOf(row);
    ASSERT_TRUE(tile);
    const bool mnMajor = text(row, "major") != "K";
    const std::string type = text(row, "type");
    const bool packed = type == "e2m1_packed"; // offsets in nibbles; two elements of k are a byte
    const uint32_t size = type == "bf16" ? 2 : type == "tf32" ? 4 : 1, perByte = packed ? 2 : 1;
    const uint64_t first = hexadecimal(row, "desc_at_smem_0");
    const auto &steps = *row.getArray("steps");
    const uint32_t instMn = number(row, "inst_mn"), instK = number(row, "inst_k");
    for (uint32_t i = 0; i < steps.size(); ++i)
      for (uint32_t j = 0; j < steps[i].getAsArray()->size(); ++j) {
        const uint64_t bits = first + number((*steps[i].getAsArray())[j]);
        ASSERT_EQ(TensorDescriptor::fault(bits, mnMajor), "") << type;
        const TensorDescriptor descriptor = TensorDescriptor::decode(bits);
        for (uint32_t mn = 0; mn < instMn; ++mn)
          for (uint32_t k = 0; k < instK; k += perByte)
            ASSERT_EQ(descriptor.offset(mn, k / perByte, size, mnMajor) * perByte,
                      combine(*tile->getArray("basis_mn"), i * instMn + mn) ^
                          combine(*tile->getArray("basis_k"), j * instK + k))
                << type << (mnMajor ? " MN " : " K ") << text(row, "swizzle") << " mn " << mn << " k " << k
                << " of tile " << i << ", " << j;
      }
  });
}

TensorKind kindOf(const std::string &name) {
  static const std::map<std::string, TensorKind> kinds{
      {"f16", TensorKind::F16},           {"tf32", TensorKind::TF32},
      {"f8f6f4", TensorKind::F8F6F4},     {"i8", TensorKind::I8},
      {"mxf4", TensorKind::MXF4},         {"mxf8f6f4", TensorKind::MXF8F6F4},
      {"mxf4nvf4", TensorKind::MXF4NVF4},
  };
  return kinds.at(name);
}

TEST(EmulatorTensorLayout, InstructionDescriptorsAreRead) {
  const std::map<std::string, TensorKind> kinds{
      {"f16", TensorKind::F16},           {"tf32", TensorKind::TF32},
      {"f8f6f4", TensorKind::F8F6F4},     {"i8", TensorKind::I8},
      {"mxf4", TensorKind::MXF4},         {"mxf8f6f4", TensorKind::MXF8F6F4},
      {"mxf4nvf4", TensorKind::MXF4NVF4},
  };
  const auto codeOf = [](const std::string &type, TensorKind kind) -> uint32_t {
    if (type == "e2m1")
      return kind == TensorKind::MXF4 || kind == TensorKind::MXF4NVF4 ? 1 : 5;
    return type == "f16" || type == "e4m3" || type == "u8" ? 0
           : type == "tf32"                                ? 2
           : type == "e2m3"                                ? 3
           : type == "e3m2"                                ? 4
                                                           : 1;
  };
  forEachRow("instructions", 200, [&](const Row &row) {
    const TensorKind kind = kindOf(text(row, "kind"));
    const auto bits = static_cast<uint32_t>(hexadecimal(row, "value"));
    const TensorInstruction read = TensorInstruction::decode(bits, kind);
    EXPECT_EQ(read.m, number(row, "M"));
    EXPECT_EQ(read.n, number(row, "N"));
    EXPECT_EQ(read.typeA, codeOf(text(row, "a"), kind)) << text(row, "a");
    EXPECT_EQ(read.typeB, codeOf(text(row, "b"), kind)) << text(row, "b");
    EXPECT_EQ(read.typeD, text(row, "c") == "f16" ? 0u : text(row, "c") == "f32" ? 1u : 2u);
    EXPECT_EQ(read.mnMajorA, number(row, "a_major") == 1);
    EXPECT_EQ(read.mnMajorB, number(row, "b_major") == 1);
    EXPECT_EQ(read.negateA, number(row, "a_negate") == 1);
    EXPECT_EQ(read.negateB, number(row, "b_negate") == 1);
    if (isBlockScaled(kind)) {
      EXPECT_EQ(read.scaleType, text(row, "sf") == "ue8m0" ? 1u : 0u);
    }
  });
}

TEST(EmulatorTensorLayout, ShapesOfOtherKindsAreFaults) {
  forEachRow("shapes", 20, [](const Row &row) {
    const TensorKind kind = kindOf(text(row, "kind"));
    const uint32_t m = number(row, "m"), type = kind == TensorKind::TF32 ? 2 : 1;
    const uint32_t types = type << 7 | type << 10 | (kind == TensorKind::I8 ? 2u : isBlockScaled(kind) ? 0u : 1u) << 4;
    std::set<uint32_t> allowed;
    for (const auto &n : *row.getArray("n"))
      allowed.insert(number(n));
    for (uint32_t n = 8; n <= 256; n += 8)
      EXPECT_EQ(TensorInstruction::fault(types | m / 16 << 24 | n / 8 << 17, kind, number(row, "blocks")).empty(),
                allowed.contains(n))
          << text(row, "kind") << " by " << number(row, "blocks") << ": " << m << "×" << n;
  });
}

TEST(EmulatorTensorLayout, AccumulatorsLieInTheirLanes) {
  forEachRow("accumulators", 16, [](const Row &row) {
    const std::string name = text(row, "name");
    const uint32_t blocks = name[2] - '0', n = number(row, "N");
    const auto rows = 1u << row.getArray("m")->size();
    for (uint32_t m = 0; m < rows; ++m)
      for (uint32_t col = 0; col < n; ++col) {
        TensorPlace expected{};
        combine(row, "m", m, expected);
        combine(row, "n", col, expected);
        expectPlace(accumulatorPlace(dataPath(rows, blocks), n, m, col), expected, name);
      }
  });
}

TEST(EmulatorTensorLayout, LeftOperandsLieInTheirLanes) {
  forEachRow("left_operands", 6, [](const Row &row) {
    const std::string what = text(row, "what");
    const uint32_t bits = what == "A_bf16" ? 16 : what == "A_tf32" ? 32 : 8, depth = number(row, "k_per_step");
    const uint32_t rows = number(row, "M");
    for (uint32_t m = 0; m < rows; ++m)
      for (uint32_t k = 0; k < 4 * depth; ++k) {
        TensorPlace expected{};
        combine(row, "m", m, expected);
        combine(row, "k", k % depth, expected);
        combine(row, "kstep", k / depth, expected);
        expectPlace(leftOperandPlace(dataPath(rows, text(row, "name")[7] - '0'), m, k, bits), expected, what);
      }
  });
}

TEST(EmulatorTensorLayout, ScaleFactorsLieInFourQuarters) {
  forEachRow("scales", 10, [](const Row &row) {
    const Row &bases = *row.getObject("bases");
    for (uint32_t mn = 0; mn < number(row, "rows"); ++mn)
      for (uint32_t s = 0; s < number(row, "sf_per_instruction"); ++s) {
        TensorPlace expected{};
        combine(bases, "mn", mn, expected);
        combine(bases, "s", s, expected);
        expected.bit *= 8; // the table counts bytes
        expectPlace(scalePlace(mn, s), expected, text(row, "name"));
      }
  });
  const Row &bytes = *golden().getObject("scale_bytes");
  for (uint32_t mn = 0; mn < 128; ++mn)
    for (uint32_t s = 0; s < 4; ++s)
      EXPECT_EQ(scaleByte(mn, s), combine(*bytes.getArray("mn"), mn) ^ combine(*bytes.getArray("s"), s));
}

TEST(EmulatorTensorLayout, LoadsAndStoresMoveRegisters) {
  forEachRow("moves", 74, [](const Row &row) {
    const MoveShape shape = *readMoveShape(text(row, "shape"));
    const bool packed = number(row, "pack16") == 1;
    const uint32_t registers = number(row, "regs"), split = number(row, "x") * (packed ? 2 : 1);
    EXPECT_EQ(registers, number(row, "x") * registersOf(shape));
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < registers; ++r)
        for (uint32_t h = 0; h < 2; ++h) {
          TensorPlace expected{};
          combine(row, "t", t, expected);
          combine(row, "r", r, expected);
          combine(row, "h", h, expected);
          expectPlace(movePlace(shape, packed, split, t, r, h), expected, text(row, "shape"));
        }
  });
}

/// Register r of thread t of a warpgroup has row and column of the tile by a layout; the load gives it a lane and
/// column.
TEST(EmulatorTensorLayout, LoadsGiveTheRuntimesLayouts) {
  constexpr int cols = 64;
  for (int t = 0; t < 128; ++t) {
    const auto lane = static_cast<uint32_t>(t % 32);
    for (int b = 0; b < cols; ++b) {
      const auto r = static_cast<uint32_t>(tk::lane_rows::index<128, cols>(0, b));
      const TensorPlace place = movePlace(MoveShape::S32x32b, false, 0, lane, r, 0);
      EXPECT_EQ(t / 32 * 32 + int(place.lane), tk::lane_rows::row(t, 0));
      EXPECT_EQ(int(place.column), tk::lane_rows::col(t, b));
    }
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < cols / 4; ++b) {
        const int r = tk::tensor_layout::index<128, cols>(a, b), each = cols / 2;
        const TensorPlace place = movePlace(MoveShape::S16x256b, false, 0, lane, static_cast<uint32_t>(r % each), 0);
        EXPECT_EQ(t / 32 * 32 + r / each * 16 + int(place.lane), tk::tensor_layout::row(t, a));
        EXPECT_EQ(int(place.column), tk::tensor_layout::col(t, b));
        // Two neighbours of 16 bits are a word, and a column.
        const TensorPlace pair = movePlace(MoveShape::S16x128b, false, 0, lane, static_cast<uint32_t>(r % each / 2), 0);
        EXPECT_EQ(pair.lane, place.lane);
        EXPECT_EQ(pair.column, place.column / 2);
      }
  }
}

} // namespace
