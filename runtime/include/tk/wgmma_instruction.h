// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wgmma instruction itself, for every width and type.
//
// PTX wants each accumulator register by name, and an asm statement has a fixed list of operands. Rather than a wrapper
// for each of 32 widths, one lists the 128 registers of the widest, and a narrower instruction puts the end of the list
// in a comment: before each group of four registers stands a string that is empty, or opens the comment. Registers in
// the comment vanish in ptxas. Types and the instruction's trailing flags are strings too (text.h).
#pragma once

#include "tk/text.h"
#include "tk/types.h"

namespace tk::wgmma_text {

/// "/*" after the last group of a 64×N accumulator.
template <int N, int Group> struct cut : text::comment_opens<N / 8 == Group> {};
template <int N> struct closing : text::comment_closes<(N < 256)> {};

/// N in decimal. No padding: what stands after the text's end would go into the instruction.
template <int N, int Digits = (N < 10 ? 1 : N < 100 ? 2 : 3)> struct width {
  static constexpr char text[] = {'0' + N / 100, '0' + N / 10 % 10, '0' + N % 10, 0};
};
template <int N> struct width<N, 2> {
  static constexpr char text[] = {'0' + N / 10, '0' + N % 10, 0};
};
template <int N> struct width<N, 1> {
  static constexpr char text[] = {'0' + N, 0};
};

/// The end of the instruction's name. A and B may differ only among the float8 and among the 8-bit integer types.
template <class A, class B> struct types;
template <> struct types<bf16, bf16> {
  static constexpr char text[] = "k16.f32.bf16.bf16";
};
template <> struct types<half, half> {
  static constexpr char text[] = "k16.f32.f16.f16";
};
template <> struct types<tf32, tf32> {
  static constexpr char text[] = "k8.f32.tf32.tf32";
};
template <> struct types<f8e4m3, f8e4m3> {
  static constexpr char text[] = "k32.f32.e4m3.e4m3";
};
template <> struct types<f8e4m3, f8e5m2> {
  static constexpr char text[] = "k32.f32.e4m3.e5m2";
};
template <> struct types<f8e5m2, f8e4m3> {
  static constexpr char text[] = "k32.f32.e5m2.e4m3";
};
template <> struct types<f8e5m2, f8e5m2> {
  static constexpr char text[] = "k32.f32.e5m2.e5m2";
};
template <> struct types<i8, i8> {
  static constexpr char text[] = "k32.s32.s8.s8";
};
template <> struct types<i8, u8> {
  static constexpr char text[] = "k32.s32.s8.u8";
};
template <> struct types<u8, i8> {
  static constexpr char text[] = "k32.s32.u8.s8";
};
template <> struct types<u8, u8> {
  static constexpr char text[] = "k32.s32.u8.u8";
};

/// What follows the predicate: negation of A and B, and for 16-bit types whether A (if shared) and B are MN-major.
template <bool Is16Bit, bool IsInteger, bool SharedA, bool MajorA, bool MajorB> struct flags {
  static constexpr char text[] = ", 1, 1";
};
template <bool SharedA, bool MajorA, bool MajorB> struct flags<false, true, SharedA, MajorA, MajorB> {
  static constexpr char text[] = "";
};
template <bool MajorA, bool MajorB> struct flags<true, false, true, MajorA, MajorB> {
  static constexpr char text[] = {',', ' ', '1', ',', ' ', '1', ',', ' ', '0' + MajorA, ',', ' ', '0' + MajorB, 0};
};
template <bool MajorA, bool MajorB> struct flags<true, false, false, MajorA, MajorB> {
  static constexpr char text[] = {',', ' ', '1', ',', ' ', '1', ',', ' ', '0' + MajorB, 0};
};

} // namespace tk::wgmma_text

namespace tk {

// clang-format off: the tables below read best as tables

/// r[64 × N, f32] (+)= a · b, a in shared memory; the first N / 2 of r are the accumulator.
template <int N, class Types, class Flags>
__device__ __forceinline__ void wgmma_instruction(float (&r)[128], u64 a, u64 b, bool accumulate) {
  using namespace wgmma_text;
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n%131%132 {"
               "%0,%1,%2,%3 %134,%4,%5,%6,%7 %135,%8,%9,%10,%11 %136,%12,%13,%14,%15"
               "%137,%16,%17,%18,%19 %138,%20,%21,%22,%23 %139,%24,%25,%26,%27 %140,%28,%29,%30,%31"
               "%141,%32,%33,%34,%35 %142,%36,%37,%38,%39 %143,%40,%41,%42,%43 %144,%44,%45,%46,%47"
               "%145,%48,%49,%50,%51 %146,%52,%53,%54,%55 %147,%56,%57,%58,%59 %148,%60,%61,%62,%63"
               "%149,%64,%65,%66,%67 %150,%68,%69,%70,%71 %151,%72,%73,%74,%75 %152,%76,%77,%78,%79"
               "%153,%80,%81,%82,%83 %154,%84,%85,%86,%87 %155,%88,%89,%90,%91 %156,%92,%93,%94,%95"
               "%157,%96,%97,%98,%99 %158,%100,%101,%102,%103 %159,%104,%105,%106,%107 %160,%108,%109,%110,%111"
               "%161,%112,%113,%114,%115 %162,%116,%117,%118,%119 %163,%120,%121,%122,%123 %164,%124,%125,%126,%127"
               "%165}, %128, %129, accumulate%133;\n}\n"
               : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]), "+f"(r[4]), "+f"(r[5]), "+f"(r[6]), "+f"(r[7]),
                 "+f"(r[8]), "+f"(r[9]), "+f"(r[10]), "+f"(r[11]), "+f"(r[12]), "+f"(r[13]), "+f"(r[14]), "+f"(r[15]),
                 "+f"(r[16]), "+f"(r[17]), "+f"(r[18]), "+f"(r[19]), "+f"(r[20]), "+f"(r[21]), "+f"(r[22]), "+f"(r[23]),
                 "+f"(r[24]), "+f"(r[25]), "+f"(r[26]), "+f"(r[27]), "+f"(r[28]), "+f"(r[29]), "+f"(r[30]), "+f"(r[31]),
                 "+f"(r[32]), "+f"(r[33]), "+f"(r[34]), "+f"(r[35]), "+f"(r[36]), "+f"(r[37]), "+f"(r[38]), "+f"(r[39]),
                 "+f"(r[40]), "+f"(r[41]), "+f"(r[42]), "+f"(r[43]), "+f"(r[44]), "+f"(r[45]), "+f"(r[46]), "+f"(r[47]),
                 "+f"(r[48]), "+f"(r[49]), "+f"(r[50]), "+f"(r[51]), "+f"(r[52]), "+f"(r[53]), "+f"(r[54]), "+f"(r[55]),
                 "+f"(r[56]), "+f"(r[57]), "+f"(r[58]), "+f"(r[59]), "+f"(r[60]), "+f"(r[61]), "+f"(r[62]), "+f"(r[63]),
                 "+f"(r[64]), "+f"(r[65]), "+f"(r[66]), "+f"(r[67]), "+f"(r[68]), "+f"(r[69]), "+f"(r[70]), "+f"(r[71]),
                 "+f"(r[72]), "+f"(r[73]), "+f"(r[74]), "+f"(r[75]), "+f"(r[76]), "+f"(r[77]), "+f"(r[78]), "+f"(r[79]),
                 "+f"(r[80]), "+f"(r[81]), "+f"(r[82]), "+f"(r[83]), "+f"(r[84]), "+f"(r[85]), "+f"(r[86]), "+f"(r[87]),
                 "+f"(r[88]), "+f"(r[89]), "+f"(r[90]), "+f"(r[91]), "+f"(r[92]), "+f"(r[93]), "+f"(r[94]), "+f"(r[95]),
                 "+f"(r[96]), "+f"(r[97]), "+f"(r[98]), "+f"(r[99]), "+f"(r[100]), "+f"(r[101]), "+f"(r[102]), "+f"(r[103]),
                 "+f"(r[104]), "+f"(r[105]), "+f"(r[106]), "+f"(r[107]), "+f"(r[108]), "+f"(r[109]), "+f"(r[110]), "+f"(r[111]),
                 "+f"(r[112]), "+f"(r[113]), "+f"(r[114]), "+f"(r[115]), "+f"(r[116]), "+f"(r[117]), "+f"(r[118]), "+f"(r[119]),
                 "+f"(r[120]), "+f"(r[121]), "+f"(r[122]), "+f"(r[123]), "+f"(r[124]), "+f"(r[125]), "+f"(r[126]), "+f"(r[127])
               : "l"(a), "l"(b), "r"(int(accumulate)), "C"(width<N>::text), "C"(Types::text), "C"(Flags::text),
                 "C"(cut<N, 1>::text), "C"(cut<N, 2>::text), "C"(cut<N, 3>::text), "C"(cut<N, 4>::text),
                 "C"(cut<N, 5>::text), "C"(cut<N, 6>::text), "C"(cut<N, 7>::text), "C"(cut<N, 8>::text),
                 "C"(cut<N, 9>::text), "C"(cut<N, 10>::text), "C"(cut<N, 11>::text), "C"(cut<N, 12>::text),
                 "C"(cut<N, 13>::text), "C"(cut<N, 14>::text), "C"(cut<N, 15>::text), "C"(cut<N, 16>::text),
                 "C"(cut<N, 17>::text), "C"(cut<N, 18>::text), "C"(cut<N, 19>::text), "C"(cut<N, 20>::text),
                 "C"(cut<N, 21>::text), "C"(cut<N, 22>::text), "C"(cut<N, 23>::text), "C"(cut<N, 24>::text),
                 "C"(cut<N, 25>::text), "C"(cut<N, 26>::text), "C"(cut<N, 27>::text), "C"(cut<N, 28>::text),
                 "C"(cut<N, 29>::text), "C"(cut<N, 30>::text), "C"(cut<N, 31>::text), "C"(closing<N>::text));
}

/// r[64 × N, f32] (+)= a · b, a in registers; the first N / 2 of r are the accumulator.
template <int N, class Types, class Flags>
__device__ __forceinline__ void wgmma_instruction(float (&r)[128], const u32 (&a)[4], u64 b, bool accumulate) {
  using namespace wgmma_text;
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %133, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n%134%135 {"
               "%0,%1,%2,%3 %137,%4,%5,%6,%7 %138,%8,%9,%10,%11 %139,%12,%13,%14,%15"
               "%140,%16,%17,%18,%19 %141,%20,%21,%22,%23 %142,%24,%25,%26,%27 %143,%28,%29,%30,%31"
               "%144,%32,%33,%34,%35 %145,%36,%37,%38,%39 %146,%40,%41,%42,%43 %147,%44,%45,%46,%47"
               "%148,%48,%49,%50,%51 %149,%52,%53,%54,%55 %150,%56,%57,%58,%59 %151,%60,%61,%62,%63"
               "%152,%64,%65,%66,%67 %153,%68,%69,%70,%71 %154,%72,%73,%74,%75 %155,%76,%77,%78,%79"
               "%156,%80,%81,%82,%83 %157,%84,%85,%86,%87 %158,%88,%89,%90,%91 %159,%92,%93,%94,%95"
               "%160,%96,%97,%98,%99 %161,%100,%101,%102,%103 %162,%104,%105,%106,%107 %163,%108,%109,%110,%111"
               "%164,%112,%113,%114,%115 %165,%116,%117,%118,%119 %166,%120,%121,%122,%123 %167,%124,%125,%126,%127"
               "%168}, {%128, %129, %130, %131}, %132, accumulate%136;\n}\n"
               : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]), "+f"(r[4]), "+f"(r[5]), "+f"(r[6]), "+f"(r[7]),
                 "+f"(r[8]), "+f"(r[9]), "+f"(r[10]), "+f"(r[11]), "+f"(r[12]), "+f"(r[13]), "+f"(r[14]), "+f"(r[15]),
                 "+f"(r[16]), "+f"(r[17]), "+f"(r[18]), "+f"(r[19]), "+f"(r[20]), "+f"(r[21]), "+f"(r[22]), "+f"(r[23]),
                 "+f"(r[24]), "+f"(r[25]), "+f"(r[26]), "+f"(r[27]), "+f"(r[28]), "+f"(r[29]), "+f"(r[30]), "+f"(r[31]),
                 "+f"(r[32]), "+f"(r[33]), "+f"(r[34]), "+f"(r[35]), "+f"(r[36]), "+f"(r[37]), "+f"(r[38]), "+f"(r[39]),
                 "+f"(r[40]), "+f"(r[41]), "+f"(r[42]), "+f"(r[43]), "+f"(r[44]), "+f"(r[45]), "+f"(r[46]), "+f"(r[47]),
                 "+f"(r[48]), "+f"(r[49]), "+f"(r[50]), "+f"(r[51]), "+f"(r[52]), "+f"(r[53]), "+f"(r[54]), "+f"(r[55]),
                 "+f"(r[56]), "+f"(r[57]), "+f"(r[58]), "+f"(r[59]), "+f"(r[60]), "+f"(r[61]), "+f"(r[62]), "+f"(r[63]),
                 "+f"(r[64]), "+f"(r[65]), "+f"(r[66]), "+f"(r[67]), "+f"(r[68]), "+f"(r[69]), "+f"(r[70]), "+f"(r[71]),
                 "+f"(r[72]), "+f"(r[73]), "+f"(r[74]), "+f"(r[75]), "+f"(r[76]), "+f"(r[77]), "+f"(r[78]), "+f"(r[79]),
                 "+f"(r[80]), "+f"(r[81]), "+f"(r[82]), "+f"(r[83]), "+f"(r[84]), "+f"(r[85]), "+f"(r[86]), "+f"(r[87]),
                 "+f"(r[88]), "+f"(r[89]), "+f"(r[90]), "+f"(r[91]), "+f"(r[92]), "+f"(r[93]), "+f"(r[94]), "+f"(r[95]),
                 "+f"(r[96]), "+f"(r[97]), "+f"(r[98]), "+f"(r[99]), "+f"(r[100]), "+f"(r[101]), "+f"(r[102]), "+f"(r[103]),
                 "+f"(r[104]), "+f"(r[105]), "+f"(r[106]), "+f"(r[107]), "+f"(r[108]), "+f"(r[109]), "+f"(r[110]), "+f"(r[111]),
                 "+f"(r[112]), "+f"(r[113]), "+f"(r[114]), "+f"(r[115]), "+f"(r[116]), "+f"(r[117]), "+f"(r[118]), "+f"(r[119]),
                 "+f"(r[120]), "+f"(r[121]), "+f"(r[122]), "+f"(r[123]), "+f"(r[124]), "+f"(r[125]), "+f"(r[126]), "+f"(r[127])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)), "C"(width<N>::text), "C"(Types::text), "C"(Flags::text),
                 "C"(cut<N, 1>::text), "C"(cut<N, 2>::text), "C"(cut<N, 3>::text), "C"(cut<N, 4>::text),
                 "C"(cut<N, 5>::text), "C"(cut<N, 6>::text), "C"(cut<N, 7>::text), "C"(cut<N, 8>::text),
                 "C"(cut<N, 9>::text), "C"(cut<N, 10>::text), "C"(cut<N, 11>::text), "C"(cut<N, 12>::text),
                 "C"(cut<N, 13>::text), "C"(cut<N, 14>::text), "C"(cut<N, 15>::text), "C"(cut<N, 16>::text),
                 "C"(cut<N, 17>::text), "C"(cut<N, 18>::text), "C"(cut<N, 19>::text), "C"(cut<N, 20>::text),
                 "C"(cut<N, 21>::text), "C"(cut<N, 22>::text), "C"(cut<N, 23>::text), "C"(cut<N, 24>::text),
                 "C"(cut<N, 25>::text), "C"(cut<N, 26>::text), "C"(cut<N, 27>::text), "C"(cut<N, 28>::text),
                 "C"(cut<N, 29>::text), "C"(cut<N, 30>::text), "C"(cut<N, 31>::text), "C"(closing<N>::text));
}

/// r[64 × N, i32] (+)= a · b, a in shared memory; the first N / 2 of r are the accumulator.
template <int N, class Types, class Flags>
__device__ __forceinline__ void wgmma_instruction(int (&r)[128], u64 a, u64 b, bool accumulate) {
  using namespace wgmma_text;
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n%131%132 {"
               "%0,%1,%2,%3 %134,%4,%5,%6,%7 %135,%8,%9,%10,%11 %136,%12,%13,%14,%15"
               "%137,%16,%17,%18,%19 %138,%20,%21,%22,%23 %139,%24,%25,%26,%27 %140,%28,%29,%30,%31"
               "%141,%32,%33,%34,%35 %142,%36,%37,%38,%39 %143,%40,%41,%42,%43 %144,%44,%45,%46,%47"
               "%145,%48,%49,%50,%51 %146,%52,%53,%54,%55 %147,%56,%57,%58,%59 %148,%60,%61,%62,%63"
               "%149,%64,%65,%66,%67 %150,%68,%69,%70,%71 %151,%72,%73,%74,%75 %152,%76,%77,%78,%79"
               "%153,%80,%81,%82,%83 %154,%84,%85,%86,%87 %155,%88,%89,%90,%91 %156,%92,%93,%94,%95"
               "%157,%96,%97,%98,%99 %158,%100,%101,%102,%103 %159,%104,%105,%106,%107 %160,%108,%109,%110,%111"
               "%161,%112,%113,%114,%115 %162,%116,%117,%118,%119 %163,%120,%121,%122,%123 %164,%124,%125,%126,%127"
               "%165}, %128, %129, accumulate%133;\n}\n"
               : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]),
                 "+r"(r[8]), "+r"(r[9]), "+r"(r[10]), "+r"(r[11]), "+r"(r[12]), "+r"(r[13]), "+r"(r[14]), "+r"(r[15]),
                 "+r"(r[16]), "+r"(r[17]), "+r"(r[18]), "+r"(r[19]), "+r"(r[20]), "+r"(r[21]), "+r"(r[22]), "+r"(r[23]),
                 "+r"(r[24]), "+r"(r[25]), "+r"(r[26]), "+r"(r[27]), "+r"(r[28]), "+r"(r[29]), "+r"(r[30]), "+r"(r[31]),
                 "+r"(r[32]), "+r"(r[33]), "+r"(r[34]), "+r"(r[35]), "+r"(r[36]), "+r"(r[37]), "+r"(r[38]), "+r"(r[39]),
                 "+r"(r[40]), "+r"(r[41]), "+r"(r[42]), "+r"(r[43]), "+r"(r[44]), "+r"(r[45]), "+r"(r[46]), "+r"(r[47]),
                 "+r"(r[48]), "+r"(r[49]), "+r"(r[50]), "+r"(r[51]), "+r"(r[52]), "+r"(r[53]), "+r"(r[54]), "+r"(r[55]),
                 "+r"(r[56]), "+r"(r[57]), "+r"(r[58]), "+r"(r[59]), "+r"(r[60]), "+r"(r[61]), "+r"(r[62]), "+r"(r[63]),
                 "+r"(r[64]), "+r"(r[65]), "+r"(r[66]), "+r"(r[67]), "+r"(r[68]), "+r"(r[69]), "+r"(r[70]), "+r"(r[71]),
                 "+r"(r[72]), "+r"(r[73]), "+r"(r[74]), "+r"(r[75]), "+r"(r[76]), "+r"(r[77]), "+r"(r[78]), "+r"(r[79]),
                 "+r"(r[80]), "+r"(r[81]), "+r"(r[82]), "+r"(r[83]), "+r"(r[84]), "+r"(r[85]), "+r"(r[86]), "+r"(r[87]),
                 "+r"(r[88]), "+r"(r[89]), "+r"(r[90]), "+r"(r[91]), "+r"(r[92]), "+r"(r[93]), "+r"(r[94]), "+r"(r[95]),
                 "+r"(r[96]), "+r"(r[97]), "+r"(r[98]), "+r"(r[99]), "+r"(r[100]), "+r"(r[101]), "+r"(r[102]), "+r"(r[103]),
                 "+r"(r[104]), "+r"(r[105]), "+r"(r[106]), "+r"(r[107]), "+r"(r[108]), "+r"(r[109]), "+r"(r[110]), "+r"(r[111]),
                 "+r"(r[112]), "+r"(r[113]), "+r"(r[114]), "+r"(r[115]), "+r"(r[116]), "+r"(r[117]), "+r"(r[118]), "+r"(r[119]),
                 "+r"(r[120]), "+r"(r[121]), "+r"(r[122]), "+r"(r[123]), "+r"(r[124]), "+r"(r[125]), "+r"(r[126]), "+r"(r[127])
               : "l"(a), "l"(b), "r"(int(accumulate)), "C"(width<N>::text), "C"(Types::text), "C"(Flags::text),
                 "C"(cut<N, 1>::text), "C"(cut<N, 2>::text), "C"(cut<N, 3>::text), "C"(cut<N, 4>::text),
                 "C"(cut<N, 5>::text), "C"(cut<N, 6>::text), "C"(cut<N, 7>::text), "C"(cut<N, 8>::text),
                 "C"(cut<N, 9>::text), "C"(cut<N, 10>::text), "C"(cut<N, 11>::text), "C"(cut<N, 12>::text),
                 "C"(cut<N, 13>::text), "C"(cut<N, 14>::text), "C"(cut<N, 15>::text), "C"(cut<N, 16>::text),
                 "C"(cut<N, 17>::text), "C"(cut<N, 18>::text), "C"(cut<N, 19>::text), "C"(cut<N, 20>::text),
                 "C"(cut<N, 21>::text), "C"(cut<N, 22>::text), "C"(cut<N, 23>::text), "C"(cut<N, 24>::text),
                 "C"(cut<N, 25>::text), "C"(cut<N, 26>::text), "C"(cut<N, 27>::text), "C"(cut<N, 28>::text),
                 "C"(cut<N, 29>::text), "C"(cut<N, 30>::text), "C"(cut<N, 31>::text), "C"(closing<N>::text));
}

/// r[64 × N, i32] (+)= a · b, a in registers; the first N / 2 of r are the accumulator.
template <int N, class Types, class Flags>
__device__ __forceinline__ void wgmma_instruction(int (&r)[128], const u32 (&a)[4], u64 b, bool accumulate) {
  using namespace wgmma_text;
  asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %133, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n%134%135 {"
               "%0,%1,%2,%3 %137,%4,%5,%6,%7 %138,%8,%9,%10,%11 %139,%12,%13,%14,%15"
               "%140,%16,%17,%18,%19 %141,%20,%21,%22,%23 %142,%24,%25,%26,%27 %143,%28,%29,%30,%31"
               "%144,%32,%33,%34,%35 %145,%36,%37,%38,%39 %146,%40,%41,%42,%43 %147,%44,%45,%46,%47"
               "%148,%48,%49,%50,%51 %149,%52,%53,%54,%55 %150,%56,%57,%58,%59 %151,%60,%61,%62,%63"
               "%152,%64,%65,%66,%67 %153,%68,%69,%70,%71 %154,%72,%73,%74,%75 %155,%76,%77,%78,%79"
               "%156,%80,%81,%82,%83 %157,%84,%85,%86,%87 %158,%88,%89,%90,%91 %159,%92,%93,%94,%95"
               "%160,%96,%97,%98,%99 %161,%100,%101,%102,%103 %162,%104,%105,%106,%107 %163,%108,%109,%110,%111"
               "%164,%112,%113,%114,%115 %165,%116,%117,%118,%119 %166,%120,%121,%122,%123 %167,%124,%125,%126,%127"
               "%168}, {%128, %129, %130, %131}, %132, accumulate%136;\n}\n"
               : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]),
                 "+r"(r[8]), "+r"(r[9]), "+r"(r[10]), "+r"(r[11]), "+r"(r[12]), "+r"(r[13]), "+r"(r[14]), "+r"(r[15]),
                 "+r"(r[16]), "+r"(r[17]), "+r"(r[18]), "+r"(r[19]), "+r"(r[20]), "+r"(r[21]), "+r"(r[22]), "+r"(r[23]),
                 "+r"(r[24]), "+r"(r[25]), "+r"(r[26]), "+r"(r[27]), "+r"(r[28]), "+r"(r[29]), "+r"(r[30]), "+r"(r[31]),
                 "+r"(r[32]), "+r"(r[33]), "+r"(r[34]), "+r"(r[35]), "+r"(r[36]), "+r"(r[37]), "+r"(r[38]), "+r"(r[39]),
                 "+r"(r[40]), "+r"(r[41]), "+r"(r[42]), "+r"(r[43]), "+r"(r[44]), "+r"(r[45]), "+r"(r[46]), "+r"(r[47]),
                 "+r"(r[48]), "+r"(r[49]), "+r"(r[50]), "+r"(r[51]), "+r"(r[52]), "+r"(r[53]), "+r"(r[54]), "+r"(r[55]),
                 "+r"(r[56]), "+r"(r[57]), "+r"(r[58]), "+r"(r[59]), "+r"(r[60]), "+r"(r[61]), "+r"(r[62]), "+r"(r[63]),
                 "+r"(r[64]), "+r"(r[65]), "+r"(r[66]), "+r"(r[67]), "+r"(r[68]), "+r"(r[69]), "+r"(r[70]), "+r"(r[71]),
                 "+r"(r[72]), "+r"(r[73]), "+r"(r[74]), "+r"(r[75]), "+r"(r[76]), "+r"(r[77]), "+r"(r[78]), "+r"(r[79]),
                 "+r"(r[80]), "+r"(r[81]), "+r"(r[82]), "+r"(r[83]), "+r"(r[84]), "+r"(r[85]), "+r"(r[86]), "+r"(r[87]),
                 "+r"(r[88]), "+r"(r[89]), "+r"(r[90]), "+r"(r[91]), "+r"(r[92]), "+r"(r[93]), "+r"(r[94]), "+r"(r[95]),
                 "+r"(r[96]), "+r"(r[97]), "+r"(r[98]), "+r"(r[99]), "+r"(r[100]), "+r"(r[101]), "+r"(r[102]), "+r"(r[103]),
                 "+r"(r[104]), "+r"(r[105]), "+r"(r[106]), "+r"(r[107]), "+r"(r[108]), "+r"(r[109]), "+r"(r[110]), "+r"(r[111]),
                 "+r"(r[112]), "+r"(r[113]), "+r"(r[114]), "+r"(r[115]), "+r"(r[116]), "+r"(r[117]), "+r"(r[118]), "+r"(r[119]),
                 "+r"(r[120]), "+r"(r[121]), "+r"(r[122]), "+r"(r[123]), "+r"(r[124]), "+r"(r[125]), "+r"(r[126]), "+r"(r[127])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)), "C"(width<N>::text), "C"(Types::text), "C"(Flags::text),
                 "C"(cut<N, 1>::text), "C"(cut<N, 2>::text), "C"(cut<N, 3>::text), "C"(cut<N, 4>::text),
                 "C"(cut<N, 5>::text), "C"(cut<N, 6>::text), "C"(cut<N, 7>::text), "C"(cut<N, 8>::text),
                 "C"(cut<N, 9>::text), "C"(cut<N, 10>::text), "C"(cut<N, 11>::text), "C"(cut<N, 12>::text),
                 "C"(cut<N, 13>::text), "C"(cut<N, 14>::text), "C"(cut<N, 15>::text), "C"(cut<N, 16>::text),
                 "C"(cut<N, 17>::text), "C"(cut<N, 18>::text), "C"(cut<N, 19>::text), "C"(cut<N, 20>::text),
                 "C"(cut<N, 21>::text), "C"(cut<N, 22>::text), "C"(cut<N, 23>::text), "C"(cut<N, 24>::text),
                 "C"(cut<N, 25>::text), "C"(cut<N, 26>::text), "C"(cut<N, 27>::text), "C"(cut<N, 28>::text),
                 "C"(cut<N, 29>::text), "C"(cut<N, 30>::text), "C"(cut<N, 31>::text), "C"(closing<N>::text));
}
// clang-format on

} // namespace tk
