#!/usr/bin/env python3
# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules of the library's kernels, each run on the emulator with one case of the kernel.

    test/random/schedules.py --tkc build/dev/tkc/tkc [--seed S] [--seeds N] [--arch NAME…] [-o FOLDER] [FILE.tk…]

A seed is a kernel, one of its cases, a GPU, and values of some of its tunes and of some keys. Keys that the planner refuses are left
out, one after the other; what it refuses then counts as refused, and what it takes has to be right. `--seeds N`: S, S + 1 and so on. A wrong one leaves its file with
the one case, its schedule and what was said of it in FOLDER/SEED, and the command that shows it again is printed."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from fuzz import seeds

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "test"))

from library import kernel_files  # noqa: E402

TILES = [8, 16, 32, 48, 64, 96, 128, 192, 256]
Draw = collections.namedtuple("Draw", "seed file kernel case arch settings")
LONGEST = 120  # seconds of one run


def tkc(options, *arguments, timeout=LONGEST):
    return subprocess.run([options.tkc, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def declarations(text, word):
    """Declarations `case NAME { … }` of a file: (name, where it begins, where it ends)."""
    found = []
    for match in re.finditer(rf"^{word} (\w+)[^{{\n]*\{{", text, re.M):
        depth, end = 1, match.end()
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.append((match[1], match.start(), end))
    return found


def tunes(text, kernel):
    """What the kernel declares by `tune`, with the default."""
    begin, end = next((begin, end) for name, begin, end in bodies(text) if name == kernel)
    return {name: int(value) for line in re.findall(r"^\s*tune ([^;]*);", text[begin:end], re.M)
            for name, value in re.findall(r"(\w+) = (\d+)", line)}


def bodies(text):
    """Kernels, each up to the next declaration."""
    starts = [(match[2], match.start(), match[1]) for match in
              re.finditer(r"^(kernel|reference|case|bench|schedule|program|fn) (\w+)", text, re.M)]
    ends = [start for _, start, _ in starts[1:]] + [len(text)]
    return [(name, start, end) for (name, start, kind), end in zip(starts, ends) if kind == "kernel"]


def kernel_cases(text):
    """Cases of kernels: programs have no schedule."""
    kernels = [name for name, _, _ in bodies(text)]
    return [case for case in declarations(text, "case") if case[0] in kernels]


def keys(options, arch):
    """Keys of schedules: {name: values}."""
    found = {}
    for name, values in re.findall(r"^(\w+) +(bool|\d+\.\.\d+) ", tkc(options, "schedule", "--list", "--arch", arch).stdout, re.M):
        low, high = (0, 1) if values == "bool" else map(int, values.split(".."))
        found[name] = list(range(low, high + 1, 8 if name.endswith("_registers") else 1))
    return found


def draw(options, seed, sources, keys_of):
    rng = random.Random(f"schedule {seed}")
    file = rng.choice(sorted(sources))
    text = sources[file]
    cases = kernel_cases(text)
    kernel = rng.choice(sorted({name for name, _, _ in cases}))
    case = rng.choice([case for case in cases if case[0] == kernel])
    arch = rng.choice(sorted(keys_of))
    settings = {}
    for name, default in tunes(text, kernel).items():
        if rng.random() < 0.5:
            settings[name] = rng.choice([value for value in TILES if value <= 4 * default]) if default > 1 else rng.choice([1, 2, 4, 16])
    for name in rng.sample(sorted(keys_of[arch]), rng.randint(0 if settings else 1, 3)):
        settings[name] = rng.choice(keys_of[arch][name])
    return Draw(seed, file, kernel, case, arch, settings)


def files_of(drawn, text):
    """The file with the one case, and the schedule."""
    keep = drawn.case
    for word in ("case", "bench"):
        for _, begin, end in reversed(declarations(text, word)):
            if (begin, end) != keep[1:]:
                text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
    settings = " ".join(f"{name} = {value};" for name, value in drawn.settings.items())
    return text, f"schedule {drawn.kernel} for {drawn.arch} {{ {settings} }}\n"


def attempt(options, drawn, text, folder):
    """(`passed`, `refused`, `slow` or `wrong`, what was said)."""
    source, schedule = folder / drawn.file.name, folder / "schedule.tks"
    kernel, settings = files_of(drawn, text)
    source.write_text(kernel)
    schedule.write_text(settings)
    common = [source, "--arch", drawn.arch, "--schedules", schedule]
    try:
        # All specialisations: plans that the verifier finds unsound are bugs.
        compiled = tkc(options, *common, "--kernel", drawn.kernel, "-o", folder / "kernel.cu")
        if compiled.returncode not in (0, 1):
            return "wrong", compiled.stderr
        run = tkc(options, "test", *common, "--target=emulator", "--json", "-")
    except subprocess.TimeoutExpired:
        return "slow", ""
    if run.returncode not in (0, 1):
        return "wrong", run.stderr
    # What is refused is said as an error, what is wrong is not.
    if run.returncode == 1 and (error := re.search(r"error: (.*)", run.stderr)):
        return "refused", error[1]
    cases = json.JSONDecoder().raw_decode(run.stdout)[0]["cases"]
    if len(cases) != 1:
        return "wrong", f"{len(cases)} cases were run: {run.stdout}{run.stderr}"
    return ("passed", "") if cases[0]["passed"] else ("wrong", cases[0]["message"] or "wrong")


def without_refused(drawn, said):
    """The same without the key that is refused, or with the one that is asked for; None: it is something else."""
    settings = dict(drawn.settings)
    if "or set `allow_upcast = 1`" in said:
        settings["allow_upcast"] = 1
    elif (key := re.match(r"the schedule cannot be met: `(\w+)`", said)) and key[1] in settings:
        del settings[key[1]]
    return drawn._replace(settings=settings) if settings != drawn.settings else None


def search(options, drawn, text):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        verdict, said = attempt(options, drawn, text, folder)
        while verdict == "refused" and (other := without_refused(drawn, said)):
            drawn = other
            verdict, said = attempt(options, drawn, text, folder)
        if verdict == "wrong" and options.output:
            kept = options.output / str(drawn.seed)
            kept.mkdir(parents=True, exist_ok=True)
            for file in (folder / drawn.file.name, folder / "schedule.tks"):
                (kept / file.name).write_text(file.read_text())
            (kept / "said.txt").write_text(said)
        return drawn, verdict, said


def title(drawn):
    settings = " ".join(f"{name}={value}" for name, value in drawn.settings.items())
    return f"seed {drawn.seed}: {drawn.file.stem} {drawn.kernel} on {drawn.arch} with {settings}"


def report(options, drawn, said):
    folder = options.output / str(drawn.seed) if options.output else pathlib.Path("FOLDER") / str(drawn.seed)
    print(f"wrong: {title(drawn)}\n    {said.strip()[:1000]}\n    tkc test {folder / drawn.file.name} --target=emulator "
          f"--arch {drawn.arch} --schedules {folder / 'schedule.tks'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.tk")
    parser.add_argument("--tkc", required=True)
    parser.add_argument("--seed", default="1", help="the first seed; `fresh` takes one from the clock")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="so many")
    parser.add_argument("--arch", nargs="*", help="these architectures only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="a line for each")
    parser.add_argument("-o", dest="output", type=pathlib.Path, metavar="FOLDER", help="where wrong ones are kept")
    options = parser.parse_args()
    files = options.files or kernel_files(root)
    texts = {file: file.read_text() for file in files}
    # What is imported stands beside the file.
    sources = {file: text for file, text in texts.items() if kernel_cases(text) and not re.search(r"^import ", text, re.M)}
    gpus = [gpu["name"] for gpu in json.loads(tkc(options, "arch", "--json").stdout) if gpu["compiles"]]
    keys_of = {gpu: keys(options, gpu) for gpu in options.arch or gpus}
    first = int(seeds.seed_of(options.seed))
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        drawn = [draw(options, seed, sources, keys_of) for seed in range(first, first + options.seeds)]
        for one, verdict, said in pool.map(lambda each: search(options, each, sources[each.file]), drawn):
            counts[verdict] += 1
            if options.verbose:
                print(f"{verdict}: {title(one)}{': ' + said if verdict == 'refused' else ''}", flush=True)
            if verdict == "wrong":
                report(options, one, said)
    print(f"seeds {first} to {first + options.seeds - 1}: {counts['passed']} passed, {counts['refused']} refused by the planner, "
          f"{counts['slow']} too slow, {counts['wrong']} wrong")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
