// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/InstructionSets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tkc::emulator {
namespace {

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, text.find(by)));
    text.remove_prefix(std::min(parts.back().size() + 1, text.size()));
  }
  return parts;
}

/// What a form needs: a GPU of this number or a later one; or one of those named, whose instructions are theirs alone.
struct Need {
  int since;
  std::string_view only = {};
};

constexpr Need ampere{80}, ada{89}, hopper{90}, blackwell{100};
constexpr Need hopperOnly{0, "sm_90a"}, dataCentre{0, "sm_100a sm_103a"}, firstDataCentre{0, "sm_100a"},
    consumer{0, "sm_120a sm_121a"}, blackwellSpecific{0, "sm_100a sm_103a sm_120a sm_121a"},
    specific{0, "sm_90a sm_100a sm_103a sm_120a sm_121a"};

/// Parts of the opcode that all have to be there, the instruction's name first, a `*` for whatever follows; and how
/// many operands make it this form.
struct Form {
  std::string_view parts;
  Need need;
  std::string_view section; ///< of the PTX ISA
  size_t operands = 0;
};

/// "Target ISA Notes" of the PTX ISA 9.0, checked against ptxas 13.0 (test/golden-data/instruction-sets.txt).
constexpr Form forms[] = {
    {"wgmma", hopperOnly, "wgmma"},
    {"setmaxnreg", specific, "setmaxnreg"},
    {"tcgen05", dataCentre, "tcgen05"},
    {"tcgen05 mma kind::i8", firstDataCentre, "tcgen05.mma"},
    {"mma bf16", ampere, "mma"},
    {"mma tf32", ampere, "mma"},
    {"mma f64", ampere, "mma"},
    {"mma m16n8k16 f64", hopper, "mma"},
    {"mma e4m3", ada, "mma"},
    {"mma e5m2", ada, "mma"},
    {"mma kind::f8f6f4", blackwellSpecific, "mma"},
    {"mma e2m1", consumer, "mma"},
    {"mma e2m3", consumer, "mma"},
    {"mma e3m2", consumer, "mma"},
    {"mma block_scale", consumer, "mma"},
    {"cp async", ampere, "cp.async"},
    {"cp async bulk", hopper, "cp.async.bulk"},
    {"cp reduce async bulk", hopper, "cp.reduce.async.bulk"},
    {"cp async bulk tensor cta_group::*", dataCentre, "cp.async.bulk.tensor"},
    {"cp async bulk tensor tile::gather4", dataCentre, "cp.async.bulk.tensor"},
    {"clusterlaunchcontrol", blackwell, "clusterlaunchcontrol.try_cancel"},
    {"clusterlaunchcontrol multicast::cluster::all", blackwellSpecific, "clusterlaunchcontrol.try_cancel"},
    {"mbarrier", ampere, "mbarrier"},
    {"mbarrier arrive", hopper, "mbarrier.arrive", 3},
    {"mbarrier shared::cluster", hopper, "mbarrier.arrive"},
    {"mbarrier expect_tx", hopper, "mbarrier.expect_tx"},
    {"mbarrier complete_tx", hopper, "mbarrier.complete_tx"},
    {"mbarrier try_wait", hopper, "mbarrier.try_wait"},
    {"fence proxy async*", hopper, "fence.proxy"},
    {"fence proxy tensormap*", hopper, "fence.proxy"},
    {"fence mbarrier_init", hopper, "fence.mbarrier_init"},
    {"fence cluster", hopper, "fence"},
    {"mapa", hopper, "mapa"},
    {"griddepcontrol", hopper, "griddepcontrol"},
    {"barrier cluster", hopper, "barrier.cluster"},
    {"elect", hopper, "elect.sync"},
    {"ldmatrix b8", blackwellSpecific, "ldmatrix"},
    {"ldmatrix b8x16", blackwellSpecific, "ldmatrix"},
    {"stmatrix", hopper, "stmatrix"},
    {"stmatrix b8", blackwellSpecific, "stmatrix"},
    {"red bf16", hopper, "red"},
    {"red bf16x2", hopper, "red"},
    {"red v2", hopper, "red"},
    {"red v4", hopper, "red"},
    {"red v8", hopper, "red"},
    {"red cluster", hopper, "red"},
    {"atom bf16", hopper, "atom"},
    {"atom bf16x2", hopper, "atom"},
    {"atom b128", hopper, "atom"},
    {"atom v2", hopper, "atom"},
    {"atom v4", hopper, "atom"},
    {"atom v8", hopper, "atom"},
    {"atom cluster", hopper, "atom"},
    {"ld cluster", hopper, "ld"},
    {"ld shared::cluster", hopper, "ld"},
    {"ld v8", blackwell, "ld"},
    {"ld L2::cache_hint", ampere, "ld"},
    {"createpolicy", ampere, "createpolicy"},
    {"st cluster", hopper, "st"},
    {"st shared::cluster", hopper, "st"},
    {"st v8", blackwell, "st"},
    {"st async", hopper, "st.async"},
    {"st bulk", blackwell, "st.bulk"},
    {"cvt bf16", ampere, "cvt"},
    {"cvt bf16x2", ampere, "cvt"},
    {"cvt f16x2", ampere, "cvt"},
    {"cvt tf32", ampere, "cvt"},
    {"cvt rn tf32", hopper, "cvt"},
    {"cvt rn satfinite tf32", blackwell, "cvt"},
    {"cvt e4m3x2", ada, "cvt"},
    {"cvt e5m2x2", ada, "cvt"},
    {"cvt e2m1x2", blackwellSpecific, "cvt"},
    {"cvt e2m3x2", blackwellSpecific, "cvt"},
    {"cvt e3m2x2", blackwellSpecific, "cvt"},
    {"cvt ue8m0x2", blackwellSpecific, "cvt"},
    {"cvt rs", dataCentre, "cvt"},
    {"ex2 bf16x2", hopper, "ex2"},
    {"tanh bf16x2", hopper, "tanh"},
    {"add f32x2", blackwell, "add"},
    {"mul f32x2", blackwell, "mul"},
    {"fma f32x2", blackwell, "fma"},
    {"fma bf16x2", ampere, "fma"},
    {"add bf16x2", hopper, "add"},
    {"mul bf16x2", hopper, "mul"},
    {"max bf16x2", ampere, "max"},
    {"max NaN", ampere, "max"},
    {"max f32", blackwell, "max", 4},
    {"min f32", blackwell, "min", 4},
    {"redux", ampere, "redux.sync"},
    {"redux f32", dataCentre, "redux.sync"},
    {"prefetch tensormap", hopper, "prefetch"},
};

int numberOf(std::string_view gpu) { return std::atoi(std::string(gpu.substr(gpu.find('_') + 1)).c_str()); }

bool has(std::string_view gpu, const Need &need) {
  if (need.only.empty())
    return numberOf(gpu) >= need.since;
  const std::vector<std::string_view> names = split(need.only, ' ');
  return std::find(names.begin(), names.end(), gpu) != names.end();
}

bool matches(std::string_view pattern, std::string_view part) {
  return pattern.ends_with("*") ? part.starts_with(pattern.substr(0, pattern.size() - 1)) : part == pattern;
}

bool isOf(const Form &form, const std::vector<std::string_view> &opcode, size_t operands) {
  const std::vector<std::string_view> wanted = split(form.parts, ' ');
  return wanted.front() == opcode.front() && operands >= form.operands &&
         std::all_of(wanted.begin(), wanted.end(), [&](std::string_view pattern) {
           return std::any_of(opcode.begin(), opcode.end(),
                              [&](std::string_view part) { return matches(pattern, part); });
         });
}

std::string describe(std::string_view gpu, std::string_view what, const Need &need, std::string_view section) {
  std::string gpus = fmt::format("sm_{} or later", need.since);
  if (!need.only.empty())
    gpus = fmt::format("{}", fmt::join(split(need.only, ' '), " or "));
  return fmt::format("{} has no `{}`; it needs {} (PTX ISA, \"{}\")", gpu, what, gpus, section);
}

} // namespace

std::optional<std::string> lackOf(std::string_view gpu, std::string_view opcode, size_t operands) {
  const std::vector<std::string_view> parts = split(opcode, '.');
  for (const Form &form : forms)
    if (!parts.empty() && isOf(form, parts, operands) && !has(gpu, form.need))
      return describe(gpu, opcode, form.need, form.section);
  return std::nullopt;
}

std::optional<std::string> lackOfRegister(std::string_view gpu, std::string_view name) {
  for (const std::string_view prefix : {"cluster_", "clusterid", "nclusterid", "is_explicit_cluster"})
    if (name.starts_with(prefix) && !has(gpu, hopper))
      return describe(gpu, fmt::format("%{}", name), hopper, "Special Registers");
  return std::nullopt;
}

} // namespace tkc::emulator
