"""Kernels of which one breaks the whole file, with a tool that says what tkc would: split.py FOLDER-OF-THE-GENERATOR."""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import trials
from trials import Outcome, Tool, Trial


class Pretended(Tool):
    """Compiles nothing. A kernel whose text has a word breaks its file in the way that the word says."""

    def run(self, *arguments):
        words = list(map(str, arguments))
        text = pathlib.Path(next(word for word in words if word.endswith(".tk"))).read_text()
        if "test" not in words:
            return (70, "an internal error without a line") if "breaks-tkc" in text else (0, "")
        if "ends-early" in text:
            return 1, "ended"
        if "is-invalid" in text:
            return self.invalid(words, text)
        message = "random.cu:3:1: error: no" if "breaks-clang" in text else ""
        cases = [{"kernel": name, "case": "M=1", "passed": not message, "message": message} for name in re.findall(r"kernel (\w+)", text)]
        pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps({"cases": cases}))
        return 0, ""

    def invalid(self, words, text):
        """What stands last about a kernel that breaks a rule of the language is a note."""
        bad = [line for line in text.splitlines() if "is-invalid" in line]
        cases = [{"kernel": name, "case": "M=1", "passed": line not in bad, "message": "`v` is declared here" * (line in bad)}
                 for line in text.splitlines() for name in re.findall(r"kernel (\w+)", line)]
        pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps({"cases": cases}))
        path, number = next(word for word in words if word.endswith(".tk")), text.splitlines().index(bad[0]) + 1
        return 1, f"{path}:{number}:1: error: `v` keeps its type\n{path}:{number}:1: note: `v` is declared here\n"


def kernels(bad):
    return [Trial(f"k{number}", f"kernel k{number} {{}} // {bad if number == 3 else ''}\n") for number in range(7)]


def verdicts(bad):
    chosen = kernels(bad)
    with tempfile.TemporaryDirectory() as folder:
        tool = Pretended("tkc", folder)
        outcomes, left = trials.compile_all(tool, chosen, "sm_90a")
        outcomes |= trials.emulate(tool, left, "sm_90a", 1)
    return " ".join(f"{name} {outcomes[name].verdict}" for name in sorted(outcomes))


for word in ("good", "breaks-tkc", "breaks-clang", "ends-early"):
    print(f"{word}: {verdicts(word)}")
with tempfile.TemporaryDirectory() as folder:
    print("is-invalid:", *trials.interpret(Pretended("tkc", folder), kernels("is-invalid"))["k3"][:2])
for said in ("`y5[3, 4]` is 2, not 1 ± 0.1", "`y91` element 7 is 3, not 1.5 ± 0.2", "`z5[3, 4]` is 2, not 1 ± 0.1", "`y5[3]` is nan, not 1 ± 0.1",
             "`y5[3]` is inf, not 1 ± 0.1", "`y5[3]` is 0, not 1 ± 0.1", "`y5[3]` is 1, not 0 ± 0.1", "`y5[3]` is 1.2, not 1 ± 0.1",
             "`y5[3]` is 3e38, not 1 ± 0.1"):
    print(f"{said}: {trials.signature(Outcome('wrong', said))}")
for keys, said in (({}, "needs 9 bytes"), ({"allow_upcast": 1}, "needs 9 bytes"), ({}, "`sm_80` lacks f8: set `allow_upcast = 1`"), ({"stages": 2}, "no")):
    print(f"{keys} {said}: {trials.refusal(keys, said)}")
