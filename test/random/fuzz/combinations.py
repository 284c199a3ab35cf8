#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which statements of plans have run on the emulator, and which have only been printed.

    test/random/fuzz/combinations.py --tkc build/dev/tkc/tkc --ran FOLDER… [--printed FILE.tk…] [--files N] -o FOLDER

A combination is a kind of statement (of `compute` the operation), the shape and layout of what it writes or stores, its element types, and the language
that is printed: CUDA or HIP. They are read from plans, which `--emit=plan` writes with the type of every variable.

Those of `--ran` are of kernels that passed on the emulator: FOLDER is one of fuzz.py's, whose trials.jsonl says the seeds, GPUs and keys, and
which the same generator has made. Of a kernel's specialisations only those count that one of its cases asks for. What stands in a branch is told apart, as
such a case need not take it. `--printed` are files that are compiled for all GPUs, and `--files` counts files of random kernels that are compiled only: what these
add to the table has been printed, and has not run. What the plan IR declares and no plan had is named at the end."""
import argparse
import collections
import json
import pathlib
import random
import re
import sys
import tempfile

import keys
from choices import Choices
from generate import make
from trials import ROOT, Tool, Trial, compile_all

# What a statement does with a variable or buffer that has the type.
Combination = collections.namedtuple("Combination", "kind shape layout type dialect")
TYPED = re.compile(r"(fragment|column|row|share)<(\w+), [\dx]+, (\w+)(\([^)]*\))?(?:, (\w+))?>")


def dialect_of(arch):
    return "HIP" if arch.startswith("gfx") else "CUDA"


class Typed:
    """The shape, layout and element type of a variable or buffer."""

    def __init__(self, shape, layout, type):
        self.shape, self.layout, self.type = shape, layout, type


def variable_type(text):
    tile = TYPED.match(text)
    if tile:
        led = " led" if "led" in (tile[4] or "") else ""
        return Typed(tile[1], tile[3] + led, tile[2])
    if text.startswith(("index<", "ring<")):
        return Typed(text.partition("<")[0], "-", "-")
    return Typed("scalar", "-", text)


class Plan:
    """A plan's text: what stands in it."""

    def __init__(self, lines):
        self.head, self.arch = " ".join(lines), None
        found = re.match(r"plan @(\S+) for (\w+) \{(.*?)\} \(", lines[0])
        self.kernel, self.arch = found[1], found[2]
        self.fixed = dict(each.split(" = ") for each in found[3].split(", ") if each)
        self.absent = []
        self.memory, self.variables, self.combinations = {}, {}, {}
        branches = []      # of the open braces, that of the plan first: whether what is inside may be left out
        for line in lines:
            self.line(line.partition("  // ")[0].strip(), branches)

    def line(self, text, branches):
        self.absent += re.findall(r"\babsent (\w+):", text)
        if text.startswith("}"):
            branches.pop()
            if text.startswith("} else"):
                branches.append(True)
            return
        if text.startswith("role "):
            self.variables = dict(self.prelude)
        if variable := re.match(r"var (\S+): (.*)", text):
            self.variables[variable[1]] = variable_type(variable[2])
        elif buffer := re.match(r"buffer (\S+): (\w+)\[\S+\] swizzle (\w+)", text):
            self.memory[buffer[1]] = Typed("buffer", f"swizzle {buffer[3]}", buffer[2])
        elif tensor := re.match(r"tensor (\S+): (\w+)\[\S+\] slab (\d+)", text):
            self.memory[tensor[1]] = Typed("tensor memory", f"slab {tensor[3]}", tensor[2])
        elif len(branches) > 1:
            self.statement(text.removesuffix(" {"), any(branches))
        if text.startswith("grid"):
            self.prelude = dict(self.variables)
        elif text.endswith("{"):
            branches.append(text.startswith(("if ", "ahead ")))

    def typed(self, name):
        name = name.strip()
        reference = re.match(r"(\S+?)\[[^\]]*\](\.rows|\.cols)?(\.T)?$", name)
        if reference and reference[1] in self.memory:
            return self.memory[reference[1]]
        return self.variables.get(name) or Typed("?", "?", "?")

    def statement(self, text, conditional):
        text = re.sub(r"^((in_first|one|first) )+", "", text)
        made = self.combination(text)
        if made:
            combination = Combination(*made, dialect_of(self.arch))
            self.combinations[combination] = self.combinations.get(combination, True) and conditional

    def combination(self, text):
        """(kind, shape, layout, type), or None of what is no statement."""
        word = text.split()[0]
        if word in ("prologue", "epilogue", "finish", "bounds", "role", "prelude", "decision", "threads", "doc", "barrier", "map", "tensor", "grid"):
            return None
        if word == "product":
            return self.product(text)
        if word in ("store", "atomic", "store_shared", "store_tensor", "place"):
            value = self.typed(text.rpartition(" = ")[2].rpartition(" of ")[2])
            kind = " ".join(text.split()[:2]) if word == "atomic" else word
            to = f" to {self.typed(text.split()[1]).layout}" if word in ("store_shared", "place") else ""
            return kind + to, value.shape, value.layout, value.type
        if word in ("copy_in", "copy_out"):
            return self.copy(text, word)
        if word == "scale_tensor":
            by = self.typed(text.rpartition(" by ")[2])
            return word, by.shape, by.layout, by.type
        if word in ("for", "if", "ahead", "each", "record", "stagger", "product_commit", "tensor_fence", "copy_wait"):
            return self.without_type(word, text)
        dest = re.match(r"(\S+) = (\w+)(.*)", text)
        return self.assigned(dest) if dest else (word, "-", "-", "-")

    @staticmethod
    def without_type(word, text):
        if word == "for" and " in tiles(" in text:
            word = "for tiles"
        elif word == "record":
            word = f"record {text.split()[2]}"
        return word, "-", "-", "-"

    def assigned(self, match):
        name, word, rest = match.groups()
        to = self.typed(name)
        if word == "cast":
            word = f"cast from {self.typed(rest.strip(' ()').rpartition(' of (')[2]).type}"
        elif word == "reduce":
            word = "reduce " + re.match(r" (\w+ axis \d)", rest)[1]
        elif word in ("cumsum", "elements"):
            word += re.match(r" axis \d", rest)[0]
        elif word in ("load_shared", "load_tensor"):
            word += f" of {self.typed(rest.partition(' of block ')[0]).layout}"
        return word, to.shape, to.layout, to.type

    def copy(self, text, word):
        if word == "copy_in":
            place, how = self.typed(re.match(r"copy_in (\S+\]\S*) <-", text)[1]), " by the engine" if " completes " in text else " by threads"
        else:
            place, how = self.typed(re.search(r"(?:<-|\+=) (.*)$", text)[1]), " that adds" if " += " in text else ""
        return word + how, place.shape, place.layout, place.type

    def product(self, text):
        parts = re.match(r"product (.+?) (\+=|=) (.+?) \* (\S+)(.*)", text)
        dest, a, b = self.typed(parts[1]), self.typed(parts[3]), self.typed(parts[4])
        how = re.search(r"by (threads|warps)", parts[5])
        pair = " by pair" if " by pair" in parts[5] else ""
        kind = f"product by {how[1]}" if how else "product" + pair
        left = a.shape if a.shape != "fragment" else f"registers, {a.layout}"
        scaled = " with scales" if " scales " in parts[5] else ""
        return f"{kind}{scaled}, left {left}", dest.shape, dest.layout, f"{a.type} * {b.type} to {dest.type}"


def plans(text):
    """Those of the output of --emit=plan."""
    lines = []
    for line in text.splitlines():
        if line.startswith("plan @"):
            lines = [line]
        elif lines:
            lines.append(line)
            if line == "}":
                yield Plan(lines)
                lines = []


def asked(plan, cases):
    """Whether a case of the kernel may ask for the specialisation."""
    def fits(case):
        return all(case.get(name, value) in (value, "true" if value == "1" else "false" if value == "0" else value) for name, value in plan.fixed.items()) and all(
            case.get(name, "none") == "none" for name in plan.absent)
    return any(map(fits, cases))


def cases_of(text):
    """The settings of a kernel's cases."""
    found = [dict(re.findall(r"(\w+) = ([^;]*);", case)) for case in re.findall(r"^case \w+ \{(.*)\}", text, re.M)]
    return found or [{}]


class Table:
    """Where combinations were seen: how many plans ran with each outside of branches, in branches, and how many were only printed."""

    def __init__(self):
        self.ran, self.branch, self.printed = collections.Counter(), collections.Counter(), collections.Counter()
        self.kernels = 0

    def add_ran(self, tool, arch, passed):
        """The plans of kernels that passed."""
        path, _ = tool.write(passed)
        status, text = tool.run(path, "--arch", arch, "--emit=plan")
        if status != 0:
            raise SystemExit(f"{arch}: kernels that passed do not compile; has another generator made them?\n{text[:500]}")
        cases = {trial.name: cases_of(trial.text) for trial in passed}
        programs = {trial.name for trial in passed if re.search(r"^program", trial.text, re.M)}
        self.kernels += len(passed)
        for plan in plans(text):
            owner = plan.kernel.partition("_")[0] if plan.kernel not in cases else plan.kernel
            if owner in programs or asked(plan, cases.get(owner, [{}])):
                for combination, conditional in plan.combinations.items():
                    (self.branch if conditional else self.ran)[combination] += 1
            else:
                self.printed.update(plan.combinations.keys())

    def add_printed(self, tool, path, arch):
        for plan in plans(tool.run(path, "--arch", arch, "--emit=plan")[1]):
            self.printed.update(plan.combinations.keys())

    def all(self):
        return sorted({*self.ran, *self.branch, *self.printed})

    def state(self, combination):
        return "ran" if self.ran[combination] else "ran, in a branch" if self.branch[combination] else "printed only"

    def missing(self):
        return [each for each in self.all() if self.state(each) == "printed only"]

    def write(self, path):
        with path.open("w") as out:
            for each in self.all():
                out.write("\t".join([*each, self.state(each), str(self.ran[each] or self.branch[each] or self.printed[each])]) + "\n")


def of_run(table, tool, folder):
    """The kernels of a run that passed on the emulator."""
    places = collections.defaultdict(list)
    for entry in map(json.loads, (folder / "trials.jsonl").read_text().splitlines()):
        if entry["verdict"] == "passed" and entry["where"] != "interpreter" and not entry["where"].endswith(("-syntax", "-compiled")):
            places[entry["seed"], entry["file"], entry["where"]].append(entry)
    for (seed, number, arch), entries in places.items():
        # A file may run for one GPU more than once, with other keys.
        while entries:
            once = {entry["kernel"]: entry for entry in entries}
            entries = [entry for entry in entries if entry is not once[entry["kernel"]]]
            passed = [Trial(name, make(Choices(f"{seed}/{number}/{name[1:]}"), name).text(), entry["keys"]) for name, entry in once.items()]
            table.add_ran(tool, arch, passed)


def of_random(table, tool, seed, number, kernels):
    """Random kernels with random keys, compiled only."""
    source = random.Random(f"{seed}/{number}")
    made = {f"k{index}": make(Choices(f"{seed}/{number}/{index}"), f"k{index}") for index in range(kernels)}
    for arch in keys.gpus(tool):
        chosen = [Trial(name, kernel.text(), keys.draw(source, keys.offered(tool, arch), kernel)) for name, kernel in made.items()]
        left = compile_all(tool, chosen, arch)[1]
        if left:
            table.add_printed(tool, tool.write(left)[0], arch)


def declared():
    """{what: names} that the IR declares."""
    def body(path, head):
        return (ROOT / path).read_text().partition(head)[2].partition("\n}")[0]
    return {"statement": re.findall(r'"(\w+)"', body("ir/plan/PlanIR.cpp", "spelling(StmtKind kind)")),
            "operation": re.findall(r"^TKC_(?:UNARY|BINARY|OP)\(\w+, (\w+)", (ROOT / "ir/Ops.def").read_text(), re.M),
            "layout": sorted(set(re.findall(r'"(mma|operand|rows|warp_mma|tensor|mfma)\b', body("ir/plan/Printer.cpp", "print(const Layout &layout)")))),
            "type": re.findall(r'"(\w+)"', body("support/ElemType.cpp", "rows{{"))}


def never(table):
    """What the IR declares, and no plan had, for each language."""
    names = declared()
    for dialect in ("CUDA", "HIP"):
        seen = [each for each in table.all() if each.dialect == dialect]
        kinds, types = {each.kind.split()[0] for each in seen}, {word for each in seen for word in re.findall(r"\w+", f"{each.type} {each.kind}")}
        had = {"statement": kinds | {"compute"}, "operation": kinds, "layout": {each.layout.split()[0] for each in seen}, "type": types}
        for what, declared_names in names.items():
            yield dialect, what, [name for name in declared_names if name not in had[what]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--ran", type=pathlib.Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--printed", type=pathlib.Path, nargs="*", default=[], metavar="FILE.tk")
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--kernels", type=int, default=12, help="of a file")
    parser.add_argument("--seed", default="1")
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.tkc, folder)
        for run in options.ran:
            of_run(table, tool, run)
        for path in options.printed:
            for arch in keys.gpus(tool):
                table.add_printed(tool, path.resolve(), arch)
        for number in range(options.files):
            of_random(table, tool, options.seed, number, options.kernels)
    table.write(options.output / "combinations.tsv")
    states = collections.Counter(map(table.state, table.all()))
    print(f"{table.kernels} kernels ran; {len(table.all())} combinations: " + ", ".join(f"{number} {state}" for state, number in sorted(states.items())))
    for kind, number in collections.Counter((each.dialect, each.kind) for each in table.missing()).most_common():
        print(f"  printed only: {number:4} of {' '.join(kind)}")
    for dialect, what, names in never(table):
        if names:
            print(f"declared, in no plan: {dialect}, {what}: {', '.join(names)}")


if __name__ == "__main__":
    sys.exit(main())
