// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/Placement.h"

#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {

bool RingPlacement::isShared() const {
  return std::any_of(members.begin(), members.end(),
                     [](const RingMember &member) { return member.multicast != plan::Division::Whole; });
}

bool RingPlacement::isDrainedByWarps() const {
  return multipliedByWarps || std::any_of(members.begin(), members.end(), [](const RingMember &member) {
           return member.isVector || member.isReadByThreads;
         });
}

bool Placement::usesTensorMemory() const {
  return std::any_of(products.begin(), products.end(), [](const auto &it) { return it.second.inTensor; });
}

bool Placement::isScales(const std::string &buffer) const {
  return std::any_of(products.begin(), products.end(), [&](const auto &it) {
    return it.second.scales[0].buffer == buffer || it.second.scales[1].buffer == buffer;
  });
}

bool Placement::onlyFeedsProducts(const ir::Value *value) const {
  return std::all_of(value->users.begin(), value->users.end(), [&](const ir::Op *user) {
    if (ir::isProduct(*user)) // what it adds to is in registers
      return products.at(user).a.value != value && ir::addendOf(*user) != value;
    return user->kind == ir::OpKind::Transpose && onlyFeedsProducts(user->result());
  });
}

std::optional<ir::OpSet> Placement::rowsPickedBy(const ir::Value &value) const {
  ir::OpSet loads;
  for (const ir::Op *user : value.users) {
    if (user->kind == ir::OpKind::Load && loadKeys.count(user) != 0) {
      loads.insert(user);
      continue;
    }
    std::optional<ir::OpSet> others;
    if (user->results.size() == 1 && user->bodies.empty())
      others = rowsPickedBy(*user->result());
    if (!others)
      return std::nullopt;
    loads.merge(*others);
  }
  return value.users.empty() ? std::nullopt : std::optional(loads);
}

plan::Layout Placement::layoutOf(int64_t rows, plan::Division division) const {
  plan::Layout found = layout;
  const int64_t unit = plan::instructionRows(layout) * (division == plan::Division::Rows ? instances : 1);
  if (layout.kind == plan::Layout::Tensor && rows != 1 && rows % unit != 0)
    found.kind = plan::Layout::Mma;
  return found;
}

void Placement::note(plan::Note::Topic topic, SourceLoc loc, std::string text) {
  if (std::none_of(notes.begin(), notes.end(),
                   [&](const plan::Note &other) { return other.text == text && other.loc == loc; }))
    notes.push_back({topic, std::move(text), loc});
}

const RingMember *Placement::findMember(const std::string &key) const {
  for (const RingPlacement &ring : rings)
    for (const RingMember &member : ring.members)
      if (member.key == key)
        return &member;
  return nullptr;
}

const RingPlacement *Placement::findRing(const std::string &key) const {
  for (const RingPlacement &ring : rings)
    for (const RingMember &member : ring.members)
      if (member.key == key)
        return &ring;
  return nullptr;
}

const plan::Buffer *Placement::findBuffer(const std::string &name) const {
  auto found =
      std::find_if(buffers.begin(), buffers.end(), [&](const plan::Buffer &buffer) { return buffer.name == name; });
  return found == buffers.end() ? nullptr : &*found;
}

bool Placement::copiesByThreads() const {
  return std::any_of(rings.begin(), rings.end(), [](const RingPlacement &ring) {
    return std::any_of(ring.members.begin(), ring.members.end(),
                       [](const RingMember &member) { return !member.byEngine; });
  });
}

bool Placement::asksStartOfLoads() const {
  return std::any_of(asksStart.begin(), asksStart.end(), [](const ir::Op *op) { return op->kind == ir::OpKind::Load; });
}

bool Placement::asksStartOf(const RingMember &member) const {
  return std::any_of(asksStart.begin(), asksStart.end(), [&](const ir::Op *op) {
    const auto key = loadKeys.find(op);
    return key != loadKeys.end() && key->second == member.key;
  });
}

/// Vectors that may not suit the engine are left to threads that are there anyway.
bool Placement::isFilledByThreads(const RingPlacement &ring) const {
  return std::any_of(ring.members.begin(), ring.members.end(), [&](const RingMember &member) {
    return !member.byEngine || (member.isVector && copiesByThreads());
  });
}

std::string Placement::uniqueBuffer(const std::string &base) const {
  std::string name = base;
  for (int n = 2; findBuffer(name); ++n)
    name = fmt::format("{}{}", base, n);
  return name;
}

plan::Buffer *Placement::findBuffer(const std::string &name) {
  return const_cast<plan::Buffer *>(std::as_const(*this).findBuffer(name));
}

} // namespace tkc::planner
