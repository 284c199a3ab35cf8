# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of `tkc test --target=gpu`, changed so that every thread arrives at mbarriers for itself.

In emitted code the threads of a warp, or of a warpgroup, synchronise, and one of them arrives for all. Racecheck (compute-sanitizer 2025.3.1)
takes this for a race: it sees that the accesses of the thread that arrives come before the barrier's phase ends, and does not see it of the
others (docs/notes/trials.md, "The report is mistaken"). In the changed program the same threads synchronise at the same places, and each
arrives. So a report that is gone then was such a one. A report that stays is of something else."""
import re

# Every barrier counts so many times as many arrivals. A multiple of the threads of a warp and of a warpgroup.
SCALE = 128

ARRIVALS = {    # the instruction of one arrival, and its operands before the count
    "mbarrier.arrive.shared::cta.b64 _, [%0]": 1,
    "mbarrier.arrive.shared::cluster.b64 _, [remote]": 2,
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]": 2,
}


class Changed(ValueError):
    """The runtime's barriers look otherwise than they did when this was written."""


def every_thread(text):
    """The program's text; as it is if it has no mbarriers. Raises Changed where it does not find what it changes."""
    if "struct alignas(8) barrier {" not in text:
        return text
    text = replace(text, r'("mbarrier\.init\S+ \[%0\], %1;" ::"r"\(address\(\)\), "r"\()arrivals\)', rf"\g<1>{SCALE} * arrivals)", 1)
    for instruction, operands in ARRIVALS.items():
        # The last operand names the count; the string and its operands may stand on several lines.
        text = replace(text, rf'{re.escape(instruction)};(.*?)(\s*)(: "memory"\);)', rf'{instruction}, %{operands};\1, "n"(Count)\2\3', 1, re.S)
    text = replace(text, r"( +)(__device__ __forceinline__ void arrive(?:_at|_written_at)?\((?:u32 rank)?\) \{)",
                   rf"\1template <int Count = {SCALE}>\n\1\2", 3)
    text = replace(text, r"if \(threadIdx\.x % 32 == 0\)\s+(arrive\w*)\(", rf"\1<{SCALE // 32}>(", 3)
    # An arrival that announces bytes counts once; the others come before it.
    text = replace(text, r'"(mbarrier\.arrive)\.expect_tx(\.shared::cta\.b64 _, \[%0\])', rf'"\1\2, {SCALE - 1};\\n\1.expect_tx\2', 1)
    text = replace(text, r'"(mbarrier\.arrive)\.expect_tx(\.release\.cluster\.shared::cluster\.b64 _, \[remote\])', rf'"\1\2, {SCALE - 1};\\n\1.expect_tx\2', 1)
    # One thread for its warpgroup, in the kernels.
    return re.sub(r"(tk::sync\([^;]*, 128\);\s+)if \(tk::thread_in_warpgroup\(\) == 0\)\s+([^;]*\.)arrive\(\);", rf"\1\2arrive<{SCALE // 128}>();", text)


def replace(text, pattern, by, times, flags=0):
    changed, found = re.subn(pattern, by, text, flags=flags)
    if found != times:
        raise Changed(f"found {found} times instead of {times}: {pattern}")
    return changed
