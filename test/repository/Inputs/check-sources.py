"""Rules of the source tree that no compiler checks: check-sources.py RULE ROOT prints each breach, and a closing count."""
import pathlib
import re
import subprocess
import sys

rule, root = sys.argv[1], pathlib.Path(sys.argv[2])
listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                        capture_output=True, text=True, check=True).stdout.split("\0")
files = [name for name in listed if name and (root / name).is_file()]
sources = [name for name in files if re.search(r"\.(cpp|h|cuh|def)$", name) and not re.match(r"test/.*Inputs/", name)]

licence = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"

# Who may include whom; runtime/ is compiled by users and stands alone.
arrows = {
    "support": {"support"},
    "ir": {"support", "ir"},
    "frontend": {"support", "ir", "frontend"},
    "backends": {"support", "ir", "frontend", "backends"},
    "harness": {"support", "ir", "frontend", "backends", "harness"},
    "tkc": {"support", "ir", "frontend", "backends", "harness", "tkc"},
}


def text(name):
    return (root / name).read_text(errors="replace")


def breaches():
    if rule == "licence":
        for name in sources:
            if licence not in text(name).split("\n")[:2]:
                yield f"{name}: has no licence line"
    elif rule == "listed":
        for name in sources:
            if not name.endswith(".cpp") or name.startswith("runtime/"):
                continue
            path = root / name
            lists = [one for p in path.parents if root in (p, *p.parents) for one in (*p.glob("CMakeLists.txt"), *p.glob("*.cmake"))]
            if not any(re.search(rf"(^|[\s/]){re.escape(path.name)}\b", one.read_text()) for one in lists):
                yield f"{name}: is in no CMakeLists.txt"
    elif rule == "arrows":
        for name in sources:
            folder = name.split("/")[0]
            if folder not in arrows:
                continue
            for include in re.findall(r'^\s*#\s*include "([^"/]+)/', text(name), re.M):
                if include in arrows and include not in arrows[folder]:
                    yield f"{name}: includes {include}/"
    elif rule == "passes":
        table = text("docs/architecture.md")
        for name, summary in re.findall(r'TKC_PASS\("([^"]+)",\s*\w+,\s*"([^"]+)"\)', text("ir/passes/Passes.def")):
            if f"| `{name}` | {summary} |" not in table:
                yield f"docs/architecture.md: has no row for {name} with its summary"
            if not (root / "test/passes" / f"{name}.tkir").is_file():
                yield f"test/passes: has no {name}.tkir"
    elif rule == "length":
        for name in sources:
            lines = text(name).count("\n")
            if lines > 900:
                yield f"{name}: has {lines} lines"


found = list(breaches())
print("\n".join(found + [f"{len(found)} breaches of the rule"]))
