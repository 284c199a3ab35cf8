# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a sequence of choices smaller while what it makes still shows the same.

Spans are taken out or made simplest, then single choices made smaller, until nothing more goes or the attempts are used up."""


def reduce(taken, spans, shows, attempts=300):
    """`shows(taken)` gives (taken, spans) as they were used where the failure still shows, else None."""
    seen, left = set(), [attempts]

    def attempt(candidate):
        nonlocal taken, spans
        while candidate and candidate[-1] == 0:
            candidate = candidate[:-1]
        if tuple(candidate) in seen or left[0] <= 0 or (len(candidate), candidate) >= (len(taken), taken):
            return False
        seen.add(tuple(candidate))
        left[0] -= 1
        shown = shows(candidate)
        if not shown:
            return False
        taken, spans = shown
        while taken and taken[-1] == 0:
            taken = taken[:-1]
        return True

    before = None
    while before != taken and left[0] > 0:
        before = list(taken)
        cut_spans(lambda: (taken, spans), attempt)
        cut_chunks(lambda: taken, attempt)
        lower(lambda: taken, attempt)
    return taken


def cut_spans(state, attempt):
    """Takes spans out, or makes them simplest, the largest first."""
    number = 0
    while True:
        taken, spans = state()
        ordered = sorted({span for span in spans if span[1] > span[0] and span[0] < len(taken)}, key=lambda span: span[0] - span[1])
        if number >= len(ordered):
            return
        begin, end = ordered[number]
        zeros = [0] * (end - begin)
        if not attempt(taken[:begin] + taken[end:]) and not (any(taken[begin:end]) and attempt(taken[:begin] + zeros + taken[end:])) and \
                not attempt(taken[:begin] + [0] + taken[end:]):
            number += 1


def cut_chunks(state, attempt):
    for size in (8, 4, 2, 1):
        at = 0
        while at < len(state()):
            taken = state()
            if not attempt(taken[:at] + taken[at + size:]):
                at += size


def lower(state, attempt):
    at = 0
    while at < len(state()):
        taken = state()
        for smaller in (0, taken[at] // 2, taken[at] - 1):
            if 0 <= smaller < taken[at] and attempt(taken[:at] + [smaller] + taken[at + 1:]):
                break
        at += 1
