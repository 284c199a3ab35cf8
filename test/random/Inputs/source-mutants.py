# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What source_mutants.py makes of a few lines, how it sums a log up, and which of its parts look at the hashes of emitted code."""
import pathlib
import sys
import tempfile
import types

sys.path.insert(0, sys.argv[1])
import source_mutants

SOURCE = """// A comment (a, b) stays.
namespace tkc {
void Steps::add(const Row &row) {
  if (row.count > 1) {
    emit(first, second);
  }
  total += static_cast<int64_t>(row.bytes);
}
}
"""


def looks_at_hashes(command):
    return "lit-22" in command and "--filter-out=golden/emitted" not in command and any(str(word).endswith(("/test", "/golden", "/emitted.test")) for word in command)


def parts_with_hashes(tree, without):
    return [name for name, command in source_mutants.parts(tree, pathlib.Path("/out"), without) if looks_at_hashes(command)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "Steps.cpp"
        path.write_text(SOURCE)
        for kind, number, new in source_mutants.candidates(path):
            if kind != "stale name":
                print(f"{number + 1}: {kind}: {new.strip()}")
        log = source_mutants.Log(pathlib.Path(folder) / "mutants.jsonl")
        for place, found in (("a.cpp:1", "unit tests"), ("b.cpp:2", "nobody"), ("c.cpp:3", source_mutants.SAME), ("d.cpp:4", source_mutants.INVALID)):
            log.add({"kind": "operator", "place": place, "was": "a < b", "is": "a <= b", "found": found, "seconds": 1})
        tree = types.SimpleNamespace(folder=pathlib.Path("/tree"), build=pathlib.Path("/tree/build/dev"), tkc="tkc")
        print("look at hashes:", parts_with_hashes(tree, []), parts_with_hashes(tree, ["the hashes of emitted code"]))
        print("fails" if source_mutants.Log(log.path).summary() else "succeeds")


main()
