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

# Who may include whom; runtime/ is compiled by users and stands alone. A source belongs to the innermost folder that has a row.
below = ["support", "ir"]
backends = [*below, "backends/targets", "backends/cpp", "backends/schedule", "backends/cost"]
# In the order in which a kernel passes them: each may include those before it.
rooms = [f"backends/plan/{room}" for room in ("analysis", "placement", "resources", "roles", "pipeline", "tensor", "grid", "rowwise")]
planner = [*backends, *rooms, "backends/plan"]
arrows = {
    "support": ["support"],
    "ir": below,
    "frontend": [*below, "frontend"],
    "backends/targets": [*below, "backends/targets"],
    "backends/cpp": ["support", "backends/cpp"],
    "backends/schedule": [*below, "backends/targets", "backends/schedule"],
    "backends/cost": [*below, "backends/targets", "backends/cpp", "backends/cost"],
    **{room: [*backends, *rooms[:number + 1]] for number, room in enumerate(rooms)},
    "backends/plan": planner,
    "backends/emit": [*backends, "backends/emit"],
    "harness": [*planner, "frontend", "backends/emit", "harness"],
    "tkc": [*planner, "frontend", "backends/emit", "harness", "tkc"],
    "emulator": ["support", "emulator"],
}
# Includes that are against the arrows: (who, what). The list may only become shorter, and one that is not needed is a breach as well.
against = {
    ("backends/emit/Emit.h", "backends/plan/PlanModule.h"),
    ("backends/emit/Emit.h", "frontend/Program.h"),
    ("backends/emit/Names.h", "backends/plan/PlanModule.h"),
    ("backends/emit/host/Entries.h", "backends/plan/PlanModule.h"),
    ("backends/emit/host/Entries.h", "frontend/Program.h"),
    ("backends/emit/host/FfiFunctions.h", "backends/plan/PlanModule.h"),
    ("backends/emit/host/FfiFunctions.h", "frontend/Program.h"),
    ("backends/emit/host/HostExpr.h", "frontend/AST.h"),
    ("backends/emit/host/HostExpr.h", "frontend/Program.h"),
    ("backends/emit/host/HostFunction.h", "frontend/Sema.h"),
    ("backends/emit/host/Launcher.h", "backends/plan/PlanModule.h"),
    ("backends/emit/host/Launcher.h", "frontend/Program.h"),
    ("backends/emit/host/ProgramLauncher.h", "frontend/Program.h"),
    ("backends/plan/ElaborateModule.cpp", "frontend/AST.h"),
    ("backends/plan/PlanModule.cpp", "frontend/AST.h"),
    ("backends/plan/PlanModule.h", "frontend/Sema.h"),
    ("backends/plan/TuneDependence.cpp", "frontend/AST.h"),
}


def folder_of(name):
    return next((str(folder) for folder in pathlib.PurePosixPath(name).parents if str(folder) in arrows), None)


def wrong_includes():
    """(source, header) of each include that no arrow allows."""
    for name in sources:
        for header in re.findall(r'^\s*#\s*include "([^"]+)"', text(name), re.M):
            if folder_of(name) and folder_of(header) and folder_of(header) not in arrows[folder_of(name)]:
                yield name, header


def text(name):
    return (root / name).read_text(errors="replace")


def library_breaches():
    """What keeps a kernel of the library from being tested, compared or found by a reader."""
    sys.path.insert(0, str(root / "test"))
    from library import kernel_files
    tested = {str(path.relative_to(root)) for path in kernel_files(root)}
    hashed = {line.split()[0] for line in text("test/golden/emitted.hashes").splitlines()}
    headings = re.split(r"^## (.*)\n", text("docs/kernels.md"), flags=re.M)
    sections = dict(zip(headings[1::2], headings[2::2]))
    kernels = [name for name in files if name.endswith(".tk") and not name.startswith("test/")]
    for name in kernels:
        path = pathlib.Path(name)
        family = path.parent.name
        if name not in tested:
            yield f"{name}: is not found as a part of the library"
        if name not in hashed:
            yield f"{name}: has no line in test/golden/emitted.hashes"
        if sum(path.stem == pathlib.Path(other).stem for other in kernels) > 1:
            yield f"{name}: another file has this name, by which tables of the tests speak of it"
        if f"`{path.name}`" not in sections.get(family, "") and path.name not in sections:
            yield f"{name}: docs/kernels.md has neither a section of it nor a line in a section `{family}`"
    for name in sorted(hashed - set(kernels)):
        if name.startswith("kernels/"):
            yield f"test/golden/emitted.hashes: {name} is no file of the library"


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
        found = set(wrong_includes())
        for name, header in sorted(found - against):
            yield f"{name}: includes {header}"
        for name, header in sorted(against - found):
            yield f"{name}: no longer includes {header}, so that the list of exceptions has one too many"
    elif rule == "passes":
        table = text("docs/architecture.md")
        for name, summary in re.findall(r'TKC_PASS\("([^"]+)",\s*\w+,\s*"([^"]+)"\)', text("ir/passes/Passes.def")):
            if f"| `{name}` | {summary} |" not in table:
                yield f"docs/architecture.md: has no row for {name} with its summary"
            if not (root / "test/passes" / f"{name}.tkir").is_file():
                yield f"test/passes: has no {name}.tkir"
    elif rule == "library":
        yield from library_breaches()
    elif rule == "length":
        for name in sources:
            lines = text(name).count("\n")
            if lines > 800:
                yield f"{name}: has {lines} lines"


found = list(breaches())
print("\n".join(found + [f"{len(found)} breaches of the rule"]))
