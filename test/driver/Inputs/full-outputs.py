# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""full-outputs.py TKC GOOD.tk BAD.tk: runs each command with a full disk as standard output, then as standard error, and asks for exit code 73.

A command that `tkc --help` lists and this table lacks is a failure, too. `bench` and `profile` compute on a GPU what they print; there is their help
instead."""
import re
import subprocess
import sys

TKC, GOOD, BAD = sys.argv[1:]
#: By command, "" for compiling: what prints something, and what complains of something.
COMMANDS = {
    "": ([GOOD], [BAD]),
    "test": ([GOOD], [BAD]),
    "bench": (["--help"], [BAD]),
    "explain": ([GOOD, "--no-advice"], [BAD]),
    "profile": (["--help"], [BAD]),
    "tune": ([GOOD, "-o", "unwritten.tks", "--dry-run", "--arch=sm_90a"], [BAD, "-o", "unwritten.tks", "--dry-run", "--arch=sm_90a"]),
    "fmt": ([GOOD], [BAD]),
    "schedule": (["--list"], ["--list", "--arch=none"]),
    "arch": ([], ["none"]),
    "completion": (["bash"], ["none"]),
    "man": ([], ["none"]),
}
OTHERS = [["--help"], ["--version"], ["--print-pipeline"], *([f"--emit={kind}", GOOD] for kind in
          ("ast", "tile", "plan", "cuda", "header", "ffi", "signatures"))]  # fmt: skip


def run(arguments, **streams):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run([TKC, *arguments], stdin=subprocess.DEVNULL, text=True, **streams)


def main():
    failures = []
    listed = re.findall(r"^  (\w+)", run(["--help"]).stdout.split("Subcommands:")[1].split("\n\n")[0], re.M)
    failures += [f"no row of `{name}`" for name in listed if name not in COMMANDS]
    lines = {name: [[name] * bool(name) + words for words in both] for name, both in COMMANDS.items()}
    with open("/dev/full", "w") as full:
        for arguments in [prints for prints, _ in lines.values()] + OTHERS:
            done = run(arguments, stdout=full)
            if done.returncode != 73 or "cannot write standard output" not in done.stderr:
                failures.append(f"{arguments}, standard output: {done.returncode} {done.stderr}")
        for arguments in [complains for _, complains in lines.values()] + [["nosuch.tk"], ["--nosuch"], []]:
            code = run(arguments, stderr=full).returncode
            if code != 73:
                failures.append(f"{arguments}, standard error: {code}")
    print("\n".join([*failures, f"{len(listed)} commands, {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
