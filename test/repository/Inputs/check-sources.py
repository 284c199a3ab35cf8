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
    ("backends/emit/host/Entries.h", "backends/plan/PlanModule.h"),
    ("backends/emit/host/Entries.h", "frontend/Program.h"),
    ("backends/emit/host/HostExpr.h", "frontend/AST.h"),
    ("backends/emit/host/HostExpr.h", "frontend/Program.h"),
    ("backends/plan/ElaborateModule.cpp", "frontend/AST.h"),
    ("backends/plan/PlanModule.cpp", "frontend/AST.h"),
    ("backends/plan/PlanModule.h", "frontend/Sema.h"),
    ("backends/plan/TuneDependence.cpp", "frontend/AST.h"),
}
# Sources of backends/plan/ that stand in none of its folders: what calls the steps, which stays, and what leads from a file to plans, which
# goes elsewhere one day. The list may only become shorter.
beside = {"Planner", "Attempts", "ElaborateModule", "Explain", "FitPlan", "LegalizeRescaling", "PlanModule", "Scales", "TuneDependence"}


def folder_of(name):
    return next((str(folder) for folder in pathlib.PurePosixPath(name).parents if str(folder) in arrows), None)


def wrong_includes():
    """(source, header) of each include that no arrow allows."""
    for name in sources:
        for header in re.findall(r'^\s*#\s*include "([^"]+)"', text(name), re.M):
            if folder_of(name) and folder_of(header) and folder_of(header) not in arrows[folder_of(name)]:
                yield name, header


def beside_breaches():
    """Sources of backends/plan/ that should be in one of its folders, and names in `beside` that nothing has any more."""
    names = {pathlib.PurePosixPath(name) for name in sources if folder_of(name) == "backends/plan"}
    for name in sorted(names):
        if name.stem not in beside:
            yield f"{name}: is in no folder of backends/plan/"
    for stem in sorted(beside - {name.stem for name in names}):
        yield f"backends/plan/{stem}: is no longer there, so that the list of what stands beside the folders has one too many"


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
    kernels = [name for name in files if name.endswith(".tk") and not name.startswith(("test/", "demos/", "python/"))]
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


def named_paths(name):
    """(line, path) of each place in the tree that a document or a source names: by its path, or a source by its name alone."""
    tops = "|".join(sorted({re.escape(file.split("/")[0]) for file in files if "/" in file}))
    steps = "|".join(room.split("/")[-1] for room in rooms)
    for number, line in enumerate(text(name).split("\n"), 1):
        for path in re.findall(rf"(?<![\w/.<$}}-])(?:{tops})/[\w./-]*\w(?![\w*{{<$])|(?<![\w/.*{{}}-])\w+\.(?:cpp|def)\b", line):
            yield number, path
        if name == "docs/planner.md":  # the table of steps: `grid/TileOrder`, or `tensor/: PlaceTensors, MatrixRole`
            for room, sources_of in re.findall(rf"(?<![\w/])({steps})/(?:: )?((?:[A-Z]\w+(?:, )?)+)", line):
                for source in re.findall(r"\w+", sources_of):
                    yield number, f"backends/plan/{room}/{source}.cpp"


def code_map_breaches():
    """Rows of docs/architecture.md's code map without their folder or the file to start at, and folders without a row."""
    rows = re.findall(r"^\| ((?:`[\w/]+/`(?:, )?)+) \| .* \| (.*) \|$", text("docs/architecture.md"), re.M)
    mapped = {folder: re.findall(r"[\w./-]+\w", starts) for first, starts in rows for folder in re.findall(r"[\w/]+(?=/`)", first)}
    for folder, starts in mapped.items():
        for start in starts:
            if f"{folder}/{start}" not in files and start not in files:
                yield f"docs/architecture.md: {folder}/ has no {start} to start reading at"
    tops = {name.split("/")[0] for name in files if "/" in name and not name.startswith((".", "docs/"))}
    for folder in sorted(tops - {folder.split("/")[0] for folder in mapped}):
        yield f"docs/architecture.md: the code map has no row for {folder}/"


def step_breaches():
    """Sources of the planner's folders that docs/planner.md's table of steps leaves out."""
    table = text("docs/planner.md").split("\n## Steps\n")[1].split("\n\n")[0]
    for room in rooms:
        for name in sources:
            if name.startswith(f"{room}/") and name.endswith(".cpp") and not re.search(rf"\b{pathlib.PurePosixPath(name).stem}\b", table):
                yield f"docs/planner.md: the table of steps leaves out {name}"


def path_breaches():
    """A part of a path that is in capitals, without its extension, stands for any: kernels/NAME.tk."""
    folders = {str(folder) for name in files for folder in pathlib.PurePosixPath(name).parents}
    known = {*files, *folders, *(pathlib.PurePosixPath(name).name for name in files)}
    for name in [*sources, *(name for name in files if name.endswith(".md"))]:
        for number, path in named_paths(name):
            stands_for_any = any(re.fullmatch(r"[A-Z]+", part.split(".")[0]) for part in path.split("/"))
            if path not in known and not stands_for_any:
                yield f"{name}:{number}: there is no {path}"
    yield from code_map_breaches()
    yield from step_breaches()


def breaches():
    if rule == "licence":
        for name in sources:
            if licence not in text(name).split("\n")[:2]:
                yield f"{name}: has no licence line"
    elif rule == "listed":
        for name in sources:
            if not name.endswith(".cpp") or name.startswith(("runtime/", "python/tkc/", "examples/")):
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
        yield from beside_breaches()
    elif rule == "passes":
        table = text("docs/architecture.md")
        for name, summary in re.findall(r'TKC_PASS\("([^"]+)",\s*\w+,\s*"([^"]+)"\)', text("ir/passes/Passes.def")):
            if f"| `{name}` | {summary} |" not in table:
                yield f"docs/architecture.md: has no row for {name} with its summary"
            if not (root / "test/passes" / f"{name}.tkir").is_file():
                yield f"test/passes: has no {name}.tkir"
    elif rule == "library":
        yield from library_breaches()
    elif rule == "paths":
        yield from path_breaches()
    elif rule == "length":
        for name in sources:
            lines = text(name).count("\n")
            if lines > 800:
                yield f"{name}: has {lines} lines"


found = list(breaches())
print("\n".join(found + [f"{len(found)} breaches of the rule"]))
