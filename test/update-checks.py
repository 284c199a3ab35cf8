#!/usr/bin/env python3
"""Rewrites expected output from what tkc prints now: test/update-checks.py FILE…   (TKC_BUILD names another build folder)

Two kinds of expectation, told apart by the RUN line:
  RUN: tkc … %s | FileCheck %s [--check-prefix=P]
      the lines between `update-checks: begin` and `update-checks: end` comments (or `begin P`) become P: and P-NEXT: lines
  RUN: tkc … %s | diff GOLDEN -
      GOLDEN becomes the output
The result is a draft to cut down to what the test is about, and its diff is read like code."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(os.environ.get("TKC_BUILD", root / "build" / "dev"))
path = os.pathsep.join([str(build / "tkc"), "/usr/lib/llvm-22/bin", "/usr/local/cuda/bin", os.environ["PATH"]])


def expand(command, test, scratch):
    for name, value in {"%kernels": root / "kernels", "%runtime": root / "runtime" / "include", "%root": root,
                        "%python": sys.executable, "%S": test.parent, "%s": test, "%t": scratch / "t"}.items():
        command = re.sub(rf"{name}\b", str(value), command)
    return command


def output_of(command):
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True,
                            env={**os.environ, "PATH": path}, cwd=root)
    if result.returncode != 0:
        raise SystemExit(f"`{command}` exits {result.returncode}:\n{result.stderr}")
    return result.stdout


def run_lines(text):
    """The commands of the RUN lines, those ending in a backslash joined."""
    joined, pending = [], ""
    for match in re.finditer(r"RUN:\s*(.*)", text):
        pending += match[1].rstrip("\\").rstrip() + " "
        if not match[1].endswith("\\"):
            joined.append(pending.strip())
            pending = ""
    return joined


def as_checks(output, comment, prefix):
    """FileCheck lines that match `output`: literal but for what FileCheck would read as its own."""
    lines, directive = [], prefix
    for line in output.splitlines():
        if not line.strip():
            directive = prefix  # an empty line cannot be a NEXT
            continue
        escaped = re.sub(r"\{\{|\[\[", lambda found: "{{" + re.sub(r"(.)", r"\\\1", found[0]) + "}}", line)
        lines.append(f"{comment} {directive + ':':<{len(prefix) + 6}} {escaped.strip()}")
        directive = f"{prefix}-NEXT"
    return "\n".join(lines) + "\n"


def update(test):
    text = test.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        for run in run_lines(text):
            command, _, last = run.rpartition("|")
            command = expand(command.strip(), test, pathlib.Path(scratch))
            if not command:
                subprocess.run(["bash", "-c", expand(run, test, pathlib.Path(scratch))], env={**os.environ, "PATH": path})
            elif golden := re.fullmatch(r"\s*diff\s+(?:-u\s+)?(\S+)\s+-", last):
                pathlib.Path(expand(golden[1], test, pathlib.Path(scratch))).write_text(output_of(command))
            elif re.match(r"\s*FileCheck", last):
                prefix = (re.search(r"--check-prefix(?:es)?[= ](\w+)", last) or [None, "CHECK"])[1]
                name = "" if prefix == "CHECK" else f" {prefix}"
                block = re.compile(rf"^(?P<c>\S+) update-checks: begin{name}\n.*?^(?P=c) update-checks: end\n", re.M | re.S)
                if found := block.search(text):
                    comment = found["c"]
                    checks = as_checks(output_of(command), comment, prefix)
                    text = (text[:found.start()] + f"{comment} update-checks: begin{name}\n{checks}"
                            f"{comment} update-checks: end\n" + text[found.end():])
    if text != test.read_text():
        test.write_text(text)


if len(sys.argv) < 2:
    raise SystemExit(__doc__)
for argument in sys.argv[1:]:
    update(pathlib.Path(argument).resolve())
