// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launcher need not find out twice. Nothing depends on whether it is remembered but the time that a call takes.
#pragma once

#include <atomic>
#include <cstdint>

namespace tk::host {

/// The last answers to questions of one kind, each in the place that its question hashes to. All threads share them,
/// and none waits for another: one that meets another at a place asks as if nothing were there. `Key` has `hash()` and
/// `==`.
template <class Key, class Value, unsigned Places> class remembered {
public:
  /// The answer to `key`, by `ask(answer)` where it is not here. False where `ask` says that there is none, which is
  /// not remembered.
  template <class Ask> bool find(const Key &key, Value &answer, const Ask &ask) {
    place &at = places[key.hash() % Places];
    const bool entered = !at.taken.test_and_set(std::memory_order_acquire);
    const bool known = entered && at.holds && at.key == key;
    if (known)
      answer = at.answer;
    const bool found = known || ask(answer);
    if (entered && found && !known)
      at.holds = true, at.key = key, at.answer = answer;
    if (entered)
      at.taken.clear(std::memory_order_release);
    return found;
  }

private:
  struct place {
    std::atomic_flag taken{};
    bool holds = false;
    Key key{};
    Value answer{};
  };
  place places[Places]{};
};

/// Mixes the words that tell one question from most others.
template <class... Words> constexpr uint64_t hash_of(Words... words) {
  uint64_t result = 0;
  ((result = (result ^ static_cast<uint64_t>(words)) * 0x9e3779b97f4a7c15u), ...);
  return result >> 32;
}

/// A device by its number, which is the same as long as the process lives.
struct device_number {
  int id = 0;
  bool operator==(const device_number &) const = default;
  uint64_t hash() const { return static_cast<uint64_t>(id); }
};

} // namespace tk::host
