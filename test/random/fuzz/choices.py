# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices of a generator, recorded so that a smaller sequence of choices makes a smaller program of the same kind.

A generator asks for numbers below a limit, and 0 always is its simplest choice. Where a recorded sequence ends, all further choices
are 0. Spans say which choices belong together, so that a reducer can take them out together."""
import contextlib
import random


class Choices:
    def __init__(self, seed=None, replay=None):
        self.random = random.Random(seed) if replay is None else None
        self.replay = replay
        self.taken = []     # what was chosen
        self.spans = []     # (begin, end) in `taken`

    def below(self, limit):
        """A number in 0..limit-1."""
        if self.random:
            chosen = self.random.randrange(limit)
        else:
            at = len(self.taken)
            chosen = min(self.replay[at], limit - 1) if at < len(self.replay) else 0
        self.taken.append(chosen)
        return chosen

    def pick(self, options):
        return options[self.below(len(options))]

    def chance(self, percent):
        """True so often; the simplest choice is False."""
        return self.below(100) >= 100 - percent

    def count(self, most, percent):
        """A number up to `most`; each further one is as likely as said."""
        number = 0
        while number < most and self.chance(percent):
            number += 1
        return number

    @contextlib.contextmanager
    def span(self):
        begin = len(self.taken)
        yield
        self.spans.append((begin, len(self.taken)))
