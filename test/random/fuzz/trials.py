# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a file of random kernels: on the interpreter, and compiled for a GPU on the emulator. Says of each kernel what became of it.

A kernel that is refused or fails is taken out, and the others are tried again."""
import collections
import json
import math
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile

# verdict: passed, refused, wrong, race, uncompilable, internal, invalid, slow
# `passed` counts the cases that passed, also where one of the others decides the verdict; `failed` those that it stands for.
Outcome = collections.namedtuple("Outcome", "verdict said passed failed", defaults=(0, 1))
LIMIT = 240
ROOT = pathlib.Path(__file__).resolve().parents[3]


class Trial:
    """One kernel with its schedule's keys."""

    def __init__(self, name, text, keys=None):
        self.name, self.text, self.keys = name, text, dict(keys or {})

    def source(self):
        kernels = re.findall(r"^kernel (\w+)", self.text, re.M)
        return self.text + "".join(self.schedules(name) for name in kernels)

    def schedules(self, name):
        """That of the keys, and where it has a condition, that of other calls."""
        keys = dict(self.keys)
        when = f" when {keys.pop('when')}" if "when" in keys else ""
        said = "".join(f" {key} = {value};" for key, value in keys.items())
        others = f"schedule {name} for all {{ allow_upcast = 1; }}\n" if when and "allow_upcast" in keys else ""
        return (f"schedule {name} for all{when} {{{said} }}\n" if said else "") + others


class Tool:
    def __init__(self, tkc, folder, limit=LIMIT):
        self.tkc, self.folder, self.limit = str(tkc), pathlib.Path(folder), limit
        self.reproducer = str(self.folder / "reproducer.tkplan")

    def run(self, *arguments):
        """(exit status, output); the status is None where it ran too long. What counts is time on a processor, so that other work on the
        machine makes nothing slow; one that sleeps for ever is ended, too."""
        with subprocess.Popen([self.tkc, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (self.limit, self.limit))
            try:
                said, _ = process.communicate(timeout=4 * self.limit)
            except subprocess.TimeoutExpired as error:
                process.kill()
                return None, str(error)
        return None if process.returncode == -signal.SIGKILL else process.returncode, said

    def write(self, trials):
        """The file of the trials: its path, and whose each line is."""
        path, owners, text = self.folder / "random.tk", {}, ""
        for trial in trials:
            begin = text.count("\n") + 1
            text += trial.source()
            for line in range(begin, text.count("\n") + 1):
                owners[line] = trial
        path.write_text(text)
        return path, owners


def reason(message):
    """A message without its names, numbers and GPU."""
    message = re.sub(r"/\S*/", "", message)
    message = re.sub(r"`[^`]*`", "`_`", message)
    message = re.sub(r"\b(sm_\d+a?|gfx\w+)\b", "the GPU", message)
    message = re.sub(r"0x[0-9a-f]+|\d+", "N", message)
    return re.sub(r"\(.*?\)", "()", message).strip()[:160]


def interpret(tool, trials, *options):
    """{name: Outcome} of the cases on the interpreter."""
    outcomes, left = {}, list(trials)
    while left:
        path, owners = tool.write(left)
        results = tool.folder / "results.json"
        results.unlink(missing_ok=True)
        status, said = tool.run("test", path, "--weak", "--json", results, *options)
        if status is None or not results.exists():
            blamed = blame(said, path, owners) or ({left[0].name: said[:500]} if len(left) == 1 else None)
            if blamed is None:
                for trial in left:
                    outcomes |= interpret(tool, [trial], *options)
                return outcomes
            verdict = "slow" if status is None else "internal" if status == 70 else "invalid"
            outcomes |= {name: Outcome(verdict, text) for name, text in blamed.items()}
            left = [trial for trial in left if trial.name not in blamed]
            continue
        cases = json.loads(results.read_text())["cases"]
        invalid = blame(said, path, owners)
        for trial in left:
            outcome = of_cases(trial.name, cases, lambda message: "wrong")
            if outcome.verdict == "wrong" and trial.name in invalid:
                outcome = outcome._replace(verdict="invalid", said=invalid[trial.name])
            outcomes[trial.name] = outcome
        break
    return outcomes


# What tkc says of a case whose tolerance lets zeros pass, as of one small number between large ones: it says nothing of the kernel.
SHOWS_NOTHING = "would pass this case"


def of_cases(name, cases, classify):
    """The Outcome of a kernel's cases: its first failure's."""
    own = [case for case in cases if case["kernel"] == name and SHOWS_NOTHING not in case["message"]]
    failed = [f"{case['case']}: {case['message']}" for case in own if not case["passed"]]
    passed = len(own) - len(failed)
    return Outcome(classify(failed[0]), failed[0], passed, len(failed)) if failed else Outcome("passed", "", passed, 0)


def blame(said, path, owners):
    """{kernel: message} of what errors name a line of."""
    found = {}
    for line, text in re.findall(rf"{re.escape(str(path))}:(\d+)(?::\d+)?: (.*)", said):
        if ("error" in text or "refused" in text or "internal" in said) and not text.startswith(("note", "warning")):
            owner = owners.get(int(line))
            if owner:
                found.setdefault(owner.name, text.removeprefix("error: "))
    return found


def compile_all(tool, trials, arch):
    """({name: Outcome} of those that do not compile, those that do)."""
    outcomes, left = {}, list(trials)
    while left:
        path, owners = tool.write(left)
        status, said = tool.run(path, "--arch", arch, "-o", tool.folder / "random.cu", "--reproduce", tool.reproducer)
        if status == 0:
            break
        blamed = blame(said, path, owners)
        if not blamed and len(left) > 1:
            for trial in left:
                others, _ = compile_all(tool, [trial], arch)
                outcomes |= others
            left = [trial for trial in left if trial.name not in outcomes]
            break
        if not blamed:
            blamed = {left[0].name: said[:500]}
        if status == 70:
            blamed = dict(list(blamed.items())[:1])
        verdict = "slow" if status is None else "refused" if status == 1 else "internal"
        outcomes |= {name: Outcome(verdict, text) for name, text in blamed.items()}
        left = [trial for trial in left if trial.name not in blamed]
    return outcomes, left


def on_emulator(arch, order):
    """The options of `tkc test`. Launches of every second order are captured, so that blocks take tiles without a counter."""
    return ["--target=emulator", "--arch", arch, f"--order={order}", *(["--captured"] if order % 2 else [])]


def emulate(tool, left, arch, order):
    """{name: Outcome} of the cases on the emulator, of kernels that compile for the GPU."""
    outcomes = {}
    if not left:
        return outcomes
    path, _ = tool.write(left)
    results = tool.folder / "results.json"
    results.unlink(missing_ok=True)
    status, said = tool.run("test", path, "--weak", *on_emulator(arch, order), "--json", results)
    if status is None and len(left) == 1:
        return {left[0].name: Outcome("slow", f"more than {tool.limit} s")}
    cases = json.loads(results.read_text())["cases"] if results.exists() else []
    general = [case for case in cases if not case["passed"] and failed_as_a_whole(case["message"])]
    if (status is None or not cases or general) and len(left) > 1:
        return by_halves(left, lambda half: emulate(tool, half, arch, order))
    for trial in left:
        if not cases:
            outcomes[trial.name] = Outcome("internal", said[:1500])
        else:
            outcomes[trial.name] = of_cases(trial.name, cases, classify)
    return outcomes


def syntax_command(source, arch):
    """Clang on an emitted file, with what the emulator declares in place of the vendor's headers. A comparison that always holds is the
    random kernel's own."""
    command = ["clang++-22", "-x", "hip" if arch.startswith("gfx") else "cuda", "-nogpuinc", "-nogpulib", f"--offload-arch={arch}", "--cuda-device-only",
               "-std=c++20", "-fsyntax-only", "-Wall", "-Wshadow", "-Wno-tautological-compare", "-Wno-unknown-cuda-version",
               f"-I{ROOT / 'emulator/shim'}", f"-I{ROOT / 'runtime/include'}"]
    if not arch.startswith("gfx"):
        command += ["--cuda-path=/nowhere", "-Xclang", "-target-sdk-version=12.8", "-include", "tkc_emulator_prelude.h"]
        if arch.startswith(("sm_10", "sm_12")):
            command += ["-Xclang", "-target-feature", "-Xclang", "+ptx88"]
    planned = subprocess.run([*command, "-###", str(source)], capture_output=True, text=True).stderr
    line = shlex.split(next(line for line in planned.splitlines() if '"-cc1"' in line))
    # Clang's wrappers of the C++ library in device code stand on headers of the toolkit.
    wrappers = [at for at, word in enumerate(line) if word.endswith("/cuda_wrappers")]
    for at in reversed(wrappers):
        del line[at - 1:at + 1]
    return line


def check_syntax(tool, left, arch):
    """{name: Outcome} of all specialisations through Clang's front end, without a warning, of kernels that compile for the GPU."""
    if not left:
        return {}
    path, _ = tool.write(left)
    emitted = tool.folder / ("random.hip" if arch.startswith("gfx") else "random.cu")
    status, said = tool.run(path, "--arch", arch, "--standalone", "-o", emitted)
    if status != 0 and len(left) == 1:
        return {left[0].name: Outcome("refused" if status == 1 else "internal", said[:500])}
    if status != 0:
        return by_halves(left, lambda half: check_syntax(tool, half, arch))
    # Strings put into asm are nvcc's alone.
    emitted.write_text(emitted.read_text().replace('"C"(', '"l"('))
    done = subprocess.run(syntax_command(emitted, arch), capture_output=True, text=True, errors="replace")
    complaint = re.search(r"\S+:\d+:\d+: (?:(?:fatal )?error|warning): .*", done.stderr)
    if not complaint:
        return {trial.name: Outcome("passed", "", 1, 0) for trial in left}
    if len(left) == 1:
        return {left[0].name: Outcome("uncompilable", complaint[0])}
    return by_halves(left, lambda half: check_syntax(tool, half, arch))


def by_halves(left, outcomes_of):
    """Where something is wrong with a file as a whole."""
    middle = len(left) // 2
    return outcomes_of(left[:middle]) | outcomes_of(left[middle:])


def failed_as_a_whole(message):
    return re.search(r"\.(cu|hip|h|cpp):\d+:\d+: (fatal )?error|not run|no result|signal|ended|status", message) and not re.search(r"race|±", message)


def classify(message):
    if re.search(r":\d+:\d+: (fatal )?error", message):
        return "uncompilable"
    if "race" in message:
        return "race"
    if re.search(r"is \S+, not|wrong", message):
        return "wrong"
    return "fault"


def wrongness(said):
    """How a number is wrong: the output's kind, and what stands there. Names' numbers change as a kernel becomes smaller."""
    found = re.search(r"`([a-z_]+)[^`]*`(?: element \d+)? is (\S+), not (\S+)(?: ± ([-+.\de]+))?", said)
    if not found:
        return f"wrong: {reason(said)[:60]}"
    output, got, wanted, allowed = found[1], float(found[2]), float(found[3]), float(found[4] or 0)
    if math.isnan(got) != math.isnan(wanted):
        kind = "NaN" if math.isnan(got) else "a number for NaN"
    elif math.isinf(got) or math.isinf(wanted):
        kind = "infinite" if math.isinf(got) else "finite for infinity"
    elif abs(got - wanted) <= 8 * allowed:
        kind = "rounded"
    elif abs(got) > 1e4 * max(1, abs(wanted)):
        kind = "huge"
    else:
        kind = "0 for a number" if got == 0 else "a number for 0" if wanted == 0 else "another number"
    return f"wrong: {output}, {kind}"


def signature(outcome):
    """What makes two failures look alike."""
    if outcome.verdict == "passed":
        return "passed"
    if outcome.verdict == "wrong":
        return wrongness(outcome.said)
    if outcome.verdict == "race":
        kinds = re.search(r"race: (\w+) .*? of .*?(shared|global)", outcome.said)
        return "race " + " ".join(kinds.groups()) if kinds else "race"
    return f"{outcome.verdict}: {reason(outcome.said)[:90]}"


def refusal(keys, said):
    """Whose a refusal is: a schedule's keys, a type that the GPU lacks, or what every user may meet."""
    if set(keys) - {"allow_upcast"}:
        return "with keys"
    return "type that the GPU lacks" if "set `allow_upcast = 1`" in said else "default keys"
