// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pieces that the text of a plan's statement is made of. A kind of statement lists them once, as `text`, in the
// order in which they stand:
//
//   struct Sync {
//     int id = 0, threads = 0;
//     bool global = false;
//     static constexpr auto text(const auto &use) {   // sync 1 threads 128 global
//       return use(number(&Sync::id), word("threads"), number(&Sync::threads), flag("global", &Sync::global));
//     }
//   };
//
// The printer, the parser and every walk over variables, buffers and barriers go through this list, so that none of
// them can forget a field; `hasAllFields` says at compile time whether the list itself has. The list is the arguments
// of a call, and no tuple: hundreds of sources include the statements, and few of them ask for the list.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tkc::plan {

/// Words that always stand there.
struct Word {
  static constexpr size_t fields = 0;
  std::string_view words;
};
/// Words that stand there if the field is true.
template <class S> struct Flag {
  static constexpr size_t fields = 1;
  std::string_view words;
  bool S::*field;
};
/// One of two words, the first if the field is true.
template <class S> struct Either {
  static constexpr size_t fields = 1;
  std::string_view ifTrue, ifFalse;
  bool S::*field;
};
/// An integer that is not negative.
template <class S, class T> struct Number {
  static constexpr size_t fields = 1;
  T S::*field;
};
/// A value of an enumeration, by its `spelling`; `allOf` lists its values.
template <class S, class T> struct Choice {
  static constexpr size_t fields = 1;
  T S::*field;
};
/// A piece behind words, where there is something to say: a number that is not 0, a name that is not empty.
template <class Piece> struct Option {
  static constexpr size_t fields = Piece::fields;
  std::string_view words;
  Piece piece;
};

/// What a statement does with a variable.
enum class VarUse : unsigned char { Read, Write, Update };

/// A variable of the role.
template <class S, class T> struct Variable {
  static constexpr size_t fields = 1;
  VarUse use;
  T S::*field;
};
/// A ring's cursor.
template <class S, class T> struct Cursor {
  static constexpr size_t fields = 1;
  T S::*field;
};
/// A stage of a buffer: `a[fill].rows.T`.
template <class S, class T> struct BufferPiece {
  static constexpr size_t fields = 1;
  T S::*field;
};
/// A stage of an array of barriers: `full[fill]`.
template <class S, class T> struct BarrierPiece {
  static constexpr size_t fields = 1;
  T S::*field;
};
/// A word that names something outside the plan, for a message or a profile.
template <class S, class T> struct Label {
  static constexpr size_t fields = 1;
  T S::*field;
};

constexpr Word word(std::string_view words) { return {words}; }
template <class S> constexpr Flag<S> flag(std::string_view words, bool S::*field) { return {words, field}; }
template <class S> constexpr Either<S> either(std::string_view ifTrue, std::string_view ifFalse, bool S::*field) {
  return {ifTrue, ifFalse, field};
}
template <class S, class T> constexpr Number<S, T> number(T S::*field) { return {field}; }
template <class S, class T> constexpr Choice<S, T> choice(T S::*field) { return {field}; }
template <class Piece> constexpr Option<Piece> option(std::string_view words, Piece piece) { return {words, piece}; }
template <class S, class T> constexpr Variable<S, T> reads(T S::*field) { return {VarUse::Read, field}; }
template <class S, class T> constexpr Variable<S, T> writes(T S::*field) { return {VarUse::Write, field}; }
template <class S, class T> constexpr Cursor<S, T> cursor(T S::*field) { return {field}; }
template <class S, class T> constexpr BufferPiece<S, T> buffer(T S::*field) { return {field}; }
template <class S, class T> constexpr BarrierPiece<S, T> barrier(T S::*field) { return {field}; }
template <class S, class T> constexpr Label<S, T> label(T S::*field) { return {field}; }

namespace detail {

/// Converts to anything, to count how many initialisers an aggregate takes.
struct Anything {
  template <class T> operator T() const;
};
template <class S, size_t... I>
concept TakesInitialisers = requires { S{(static_cast<void>(I), Anything{})...}; };
template <class S, size_t... I> constexpr bool takes(std::index_sequence<I...>) { return TakesInitialisers<S, I...>; }
template <class S, size_t N = 0> constexpr size_t countFields() {
  if constexpr (takes<S>(std::make_index_sequence<N + 1>()))
    return countFields<S, N + 1>();
  else
    return N;
}

} // namespace detail

/// Whether the text of a kind of statement speaks of each of its fields.
template <class S>
constexpr bool hasAllFields =
    S::text([](auto... pieces) { return (size_t{0} + ... + pieces.fields); }) == detail::countFields<S>();

} // namespace tkc::plan
