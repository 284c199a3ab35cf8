# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers that a product in flight reads, and that are written before it is waited for: looked for in PTX.

A product that takes its left operand from registers reads them until a `wgmma.wait_group` that covers it. The C++ above may keep to
that and the PTX not: compilers see no read after the instruction, so that they make one register of two variables. The emulator, which
runs the C++, cannot see it either."""
import re

# What writes no register, or whose first operand is none that it writes.
WITHOUT_RESULT = re.compile(r"(?:\.|st\.|red\.|bar\b|barrier|bra\b|cp\.|fence|membar|prefetch|setmaxnreg|griddepcontrol|nanosleep|discard|applypriority|"
                            r"mbarrier\.(?:init|inval|arrive|expect_tx|complete_tx)|wgmma\.|ret\b|exit\b|trap\b)")


def overwritten(body):
    """The instructions of a function, given as PTX, that write such a register."""
    parts = blocks(body)
    places = {label: number for number, (label, _) in enumerate(parts)}
    entered, todo, found = {0: {}}, [0], set()
    while todo:
        number = todo.pop()
        for target, ages in leave(parts[number][1], entered[number], found):
            next_number = places[target] if target else number + 1
            if next_number < len(parts) and (met := merged(entered.get(next_number), ages)) != entered.get(next_number):
                entered[next_number] = met
                todo.append(next_number)
    return sorted(found)


def blocks(body):
    """[(label, [instruction])], the first without label. Labels of inline assembly are local to it, and left out."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", body[body.index("{") + 1:], flags=re.S)
    result = [("", [])]
    for piece in re.split(r"(\$L\w+):|;", text):
        words = " ".join((piece or "").split())
        if re.fullmatch(r"\$L\w+", words):
            result.append((words, []))
        elif words := re.sub(r"^(?:[{}] |\w+: )+", "", words + " ").strip():
            result[-1][1].append(words)
    return result


def merged(old, new):
    return new if old is None else {register: min(ages[register] for ages in (old, new) if register in ages) for register in old.keys() | new.keys()}


def leave(instructions, ages, found):
    """Where a block leads to with which registers in flight: [(label, or None for the next block, {register: age})]. The age of a
    register is the number of groups that were committed since the product, its own included."""
    ways = []
    for text in instructions:
        guard, text = re.fullmatch(r"(@!?%\w+ )?(.*)", text).groups()
        if jump := re.match(r"bra(?:\.uni)? (\$L\w+)", text):
            ways.append((jump[1], ages))
        if not guard and (jump or re.match(r"(?:ret|exit|trap)\b", text)):
            return ways
        if text.startswith("wgmma.mma_async"):
            operands = re.findall(r"\{([^}]*)\}", text)
            ages = ages | {register: 0 for group in operands[1:2] for register in re.findall(r"%\w+", group)}
        elif text.startswith("wgmma.commit_group"):
            ages = {register: age + 1 for register, age in ages.items()}
        elif text.startswith("wgmma.wait_group"):
            ages = {register: age for register, age in ages.items() if age <= int(text.split()[-1])}
        elif ages and not WITHOUT_RESULT.match(text):
            result = re.match(r"\S+ (\{[^}]*\}|[^,]*)", text)
            if result and ages.keys() & set(re.findall(r"%\w+", result[1])):
                found.add(text)
    return [*ways, (None, ages)]
