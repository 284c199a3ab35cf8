# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPU's turn it is with a kernel or a file, where not every GPU takes every one."""
import datetime


def today():
    """A number that grows by one each day."""
    return datetime.datetime.now(datetime.timezone.utc).date().toordinal()


def chosen(name, gpus):
    """One of `gpus`. The name alone decides which, so that what is added to the library changes no other's turn."""
    return gpus[number(name) % len(gpus)]


def of_a_kind(gpu, gpus):
    """This GPU and those whose kernels are built alike, because the same threads issue their matrix instructions (`tkc arch --json`):
    a warp, a warpgroup, one thread, or a wave of AMD's."""
    return [other for other in gpus if other["products_by"] == gpu["products_by"]]


def of_the_day(name, gpus, day, period=1):
    """One GPU of one kind, or none: it is a name's turn on one day in `period`. The other kinds follow at its next turns."""
    if not is_day(name, day, period):
        return []
    kinds = {gpu["products_by"]: chosen(name, of_a_kind(gpu, gpus)) for gpu in gpus}
    return [list(kinds.values())[(number(name) + day) // period % len(kinds)]]


def is_day(name, day, period):
    """One day in so many, on each of these for another part of the names."""
    return (number(name) + day) % period == 0


def number(name):
    """A number that depends on nothing but the name."""
    return sum(map(ord, name))
