# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of `tkc test --target=gpu`, changed so that every thread arrives and waits at mbarriers for itself.

In emitted code the threads of a warp, or of a warpgroup, synchronise, and one of them arrives for all. Racecheck (compute-sanitizer 2025.3.1)
takes this for a race: it sees that the accesses of the thread that arrives come before the barrier's phase ends, and does not see it of the
others (docs/notes/trials.md, "The report is mistaken"). Likewise one thread waits until a stage is free; then the threads that copy to it meet
at a named barrier, and write. In the changed program the same threads synchronise at the same places, and each arrives and waits. So a report
that is gone then was such a one. A report that stays is of something else."""
import re

# Every barrier counts so many times as many arrivals. A multiple of the threads of one warp, of three and of four.
SCALE = 384

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
    return every_wait(every_arrival(text))


def every_arrival(text):
    """One thread for its warpgroup, or for the warps that copy, in the kernels. Where the launcher finds nothing for the copy engine, each of
    these arrives already."""
    def each(found):
        meeting, threads, by_threads, barrier = found.groups()
        one = f"{barrier}arrive<{SCALE // int(threads)}>();"
        return meeting + (f"if (g.loads_fit) {one} else {barrier}arrive();" if by_threads else one)

    first = r"(?:tk::thread_in_warpgroup\(\)|\(int\(threadIdx\.x\) - \d+\) % \2) == 0"
    return re.sub(rf"(tk::sync\([^;]*, (32|64|96|128)\);\s+)if \({first}( \|\| !g\.loads_fit)?\)\s+([^;]*\.)arrive\(\);", each, text)


def every_wait(text):
    """One thread waits, and the branch in which its warps copy begins with a barrier of theirs. Each waits there, too, and not where the one does:
    in the other branch, of the copy engine, nothing keeps this thread from going on. Those behind it could miss two phases, which look like none."""
    return re.sub(r"^( *)(if \([^;{]* == 0(?: \|\| !g\.loads_fit)?\)\s+([^;{]*\.wait\([^;]*\);)\n\1if \([^;{]*\) \{\n(?:(?!\1\S).*\n)*\1\} else \{\n)( *)(tk::sync\()",
                  r"\1\2\4\3\n\4\5", text, flags=re.M)


def replace(text, pattern, by, times, flags=0):
    changed, found = re.subn(pattern, by, text, flags=flags)
    if found != times:
        raise Changed(f"found {found} times instead of {times}: {pattern}")
    return changed
