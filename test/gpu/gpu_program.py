# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that `tkc test --target=gpu` builds of a file: its cases are run one after the other, and those that end it are told apart."""
import json
import pathlib
import re
import select
import subprocess
import sys

import every_thread

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from gencode import gencode  # noqa: E402

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")


class Program:
    """A folder with `run` and its cases."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        source = (self.folder / "test.cu").read_text()
        # The number of each case, its kernel, and what it sets.
        self.cases = {int(number): (kernel, text) for number, kernel, text in
                      re.findall(r'^    \{(\d+), "(\w+)", "((?:[^"\\]|\\.)*)", "\d+\.case", call_\d+\},$', source, re.M)}

    def of(self, kernel):
        return [number for number, (name, _) in self.cases.items() if name == kernel]

    def run(self, numbers, limit):
        """{number: (verdict, message)} of these cases. A case that ends the process leaves those after it to another process. One that says
        nothing for `limit` seconds hangs."""
        found, left = {}, list(numbers)
        while left:
            results, begun, end = self.run_once(left, limit)
            found |= results
            if begun is not None:
                found[begun] = end
            left = [number for number in left if number not in found]
            if not results and begun is None:   # it did not come to its first case
                found |= {number: end for number in left}
                left = []
        return found

    def run_once(self, numbers, limit):
        """The results of one process, the case that it began and did not finish, and what became of that."""
        results, begun = {}, None
        process = subprocess.Popen([self.folder / "run", "--once", *map(str, numbers)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        said, text = "", b""
        while True:
            if not select.select([process.stdout], [], [], limit)[0]:
                process.kill()
                process.wait()
                return results, begun, ("hang", f"no answer within {limit} s")
            part = process.stdout.read(65536)
            if not part:
                break
            *lines, text = (text + part).split(b"\n")
            for line in lines:
                try:
                    entry = json.loads(line)
                    number = entry["index"]
                except (ValueError, TypeError, KeyError):
                    said += line.decode(errors="replace") + "\n"
                    continue
                begun = number if entry.get("begins") else None
                if begun is None:
                    results[number] = ("passed", "") if entry["passed"] else (classify(entry["message"]), entry["message"])
        status = process.wait()
        return results, begun, ("fault", f"the program ended with status {status} {said.strip()[-400:]}".strip())

    def sanitize(self, tool, numbers, limit):
        """(verdict, message) of these cases under a tool of compute-sanitizer."""
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "99", self.folder / "run", "--once", *map(str, numbers)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit)
        except FileNotFoundError:
            return "unavailable", "compute-sanitizer is not in PATH"
        except subprocess.TimeoutExpired:
            return "slow", f"more than {limit} s"
        said = [line for line in done.stdout.splitlines() if line.startswith("=========")]
        if re.search(r"Device not supported|not supported on this device|Failed to initialize|Unable to (attach|find)", done.stdout):
            return "unavailable", " ".join(said)[:400]
        if done.returncode == 0 and re.search(r"(ERROR|RACECHECK) SUMMARY: 0 ", done.stdout):
            return "clean", ""
        return "reported", "\n".join(said or done.stdout.splitlines()[-5:])[:2000]

    def where_every_thread_arrives(self, arch, limit):
        """The changed program (every_thread.py) in a folder of its own, compiled as tkc compiles this one; this one itself if that fails."""
        folder = self.folder / "every_thread"
        folder.mkdir()
        (folder / "test.cu").write_text(every_thread.every_thread((self.folder / "test.cu").read_text()))
        for case in self.folder.glob("*.case"):
            (folder / case.name).symlink_to(case.resolve())
        command = ["nvcc", "-std=c++20", "-O3", *gencode(arch), "-o", folder / "run", folder / "test.cu"]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit)
        except subprocess.SubprocessError:
            return self
        return Program(folder)


def classify(message):
    """Of a case that came to its end and did not pass."""
    return "wrong" if re.search(r"` element \d+ is \S+, not|was written", message) else "fault"
