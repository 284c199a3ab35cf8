# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random keys of schedules, from what `tkc schedule --list` offers."""
import json
import re

from known import allows


def gpus(tool):
    """The names of those that tkc compiles for."""
    return [gpu["name"] for gpu in json.loads(tool.run("arch", "--json")[1]) if gpu["compiles"]]


def offered(tool, arch):
    """{key: values}."""
    found = {}
    for name, values in re.findall(r"^(\w+) +(bool|\d+\.\.\d+) ", tool.run("schedule", "--list", "--arch", arch)[1], re.M):
        low, high = (0, 1) if values == "bool" else map(int, values.split(".."))
        found[name] = list(range(low, high + 1, 8 if name.endswith("_registers") else 1))
    return found


def draw(random, offers):
    """Keys of one kernel: mostly none, some, or a few; what the GPU lacks is computed in wider types."""
    keys = {"allow_upcast": 1} if random.random() < 0.8 else {}
    if random.random() < 0.5:
        for key in random.sample(sorted(offers), random.choice((1, 1, 1, 2, 3))):
            value = random.choice(offers[key])
            if allows(key):
                keys[key] = value
    return keys
