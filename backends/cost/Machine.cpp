// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Machine.h"

#include <algorithm>

namespace tkc::cost {
namespace {

/// Of the slots in which instructions could issue, those that compiled code fills: the rest goes to dependences, to
/// conflicts between register banks, and to instructions that tiles do not show.
constexpr double issueShare = 0.8;
/// Bytes a clock from L2 to a multiprocessor at most, and back.
constexpr double l2BytesPerClock = 64, storedBytesPerClock = 32;

} // namespace

std::string_view spelling(Unit unit) {
  switch (unit) {
  case Unit::Matrix:
    return "matrix units";
  case Unit::Issue:
    return "instruction issue";
  case Unit::MultiplyAdd:
    return "f32 multiply-adds";
  case Unit::Simple:
    return "comparisons, integers, conversions";
  case Unit::Special:
    return "special functions";
  case Unit::Shared:
    return "shared memory";
  case Unit::TensorMemory:
    return "tensor memory";
  case Unit::L2:
    return "L2";
  case Unit::Stores:
    return "stores to L2";
  case Unit::Memory:
    return "device memory";
  }
  return "";
}

Unit Estimate::busiest() const { return static_cast<Unit>(std::max_element(busy.begin(), busy.end()) - busy.begin()); }

void add(Demand &sum, const Demand &other, double times) {
  for (size_t i = 0; i < numUnits; ++i)
    sum[i] += other[i] * times;
}

Work &Work::operator+=(const Work &other) {
  multiplyAdds += other.multiplyAdds;
  simple += other.simple;
  special += other.special;
  shuffles += other.shuffles;
  others += other.others;
  sharedBytes += other.sharedBytes;
  tensorValues += other.tensorValues;
  matrixClocks += other.matrixClocks;
  return *this;
}

Machine::Machine(const arch::Description &arch, int64_t active, double clockShare) : arch(arch) {
  const arch::Rates &rates = arch.rates;
  const double sharing = static_cast<double>(std::clamp<int64_t>(active, 1, arch.multiprocessors));
  clock = arch.clockMHz / 1000.0 * clockShare;
  l2Rate = std::min(rates.l2GBs / sharing, l2BytesPerClock * clock);
  storeRate = std::min((rates.l2StoreGBs > 0 ? rates.l2StoreGBs : rates.l2GBs) / sharing, storedBytesPerClock * clock);
  const auto orStoreRate = [&](int rate) { return rate > 0 ? std::min(rate / sharing, storeRate) : storeRate; };
  fillRate = orStoreRate(rates.l2FillGBs);
  sectorRate = orStoreRate(rates.l2SectorGBs);
  memoryRate = std::min(arch.bandwidthGBs * rates.memoryShare / sharing, l2Rate);
  l2Ns = rates.l2Ns;
  memoryNs = rates.memoryNs;
}

Demand Machine::demandOf(const Work &work) const {
  const arch::Rates &rates = arch.rates;
  const double slots = std::max(rates.multiplyAdds, 4 * 32 * (arch.warpSize == 32 ? 1 : 0)) * issueShare;
  Demand result{};
  at(result, Unit::Matrix) = clocks(work.matrixClocks);
  at(result, Unit::Issue) = clocks(work.instructions() / slots);
  at(result, Unit::MultiplyAdd) = clocks(work.multiplyAdds / rates.multiplyAdds);
  at(result, Unit::Simple) = clocks(work.simple / rates.simple);
  at(result, Unit::Special) = clocks(work.special / rates.special);
  at(result, Unit::Shared) =
      clocks(work.sharedBytes / static_cast<double>(arch.sharedSpan) + work.shuffles / rates.shuffles);
  at(result, Unit::TensorMemory) = clocks(work.tensorValues / std::max(rates.tensorMemory, 1));
  return result;
}

double Machine::matrixClocks(ElemType a, ElemType b, bool scaled, double macs, double sharedBytes) const {
  const arch::MatrixInstruction *best = nullptr;
  for (const arch::MatrixInstruction &each : arch.matrixInstructions)
    if (each.a == a && each.b == b && (each.scaling != arch::Scaling::None) == scaled)
      best = &each;
  // Where no rate is published, that of the vector units stands in for it.
  const int rate = best && best->macsPerClock > 0 ? best->macsPerClock : arch.rates.multiplyAdds;
  return std::max(macs / (rate * arch.rates.matrixShare), sharedBytes / static_cast<double>(arch.sharedSpan));
}

} // namespace tkc::cost
