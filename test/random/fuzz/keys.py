# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random keys of schedules, from what `tkc schedule --list` offers."""
import json
import re

from known import allows


SAVINGS = ("late_copies", "share")  # what the planner tries where nothing else fits


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


def draw(random, offers, kernel, savings=0.2):
    """Keys of one kernel: mostly none, some, or a few; what the GPU lacks is computed in wider types. `when` is the schedule's condition.
    `savings`: how often operands share memory, besides."""
    keys = {"allow_upcast": 1} if random.random() < 0.8 else {}
    if kernel.suits and random.random() < 0.6:
        suit = random.choice(kernel.suits)
        keys |= {key: value for key, value in suit.items() if value in offers.get(key, ()) and allows(key)}
    elif random.random() < 0.5:
        for key in random.sample(sorted(set(offers) - set(SAVINGS)), random.choice((1, 1, 1, 2, 3))):
            value = random.choice(offers[key])
            if allows(key):
                keys[key] = value
    if savings and random.random() < savings:
        keys |= {key: random.choice(offers[key]) for key in SAVINGS if key in offers and allows(key)}
    conditions = kernel.conditions()
    if conditions and set(keys) - {"allow_upcast"} and random.random() < 0.3:
        keys["when"] = random.choice(conditions)
    return keys
