"""The report of lines that were not reached, of counts that are made up: unreached.py FOLDER-OF-THE-GENERATOR FOLDER."""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import coverage

folder = pathlib.Path(sys.argv[2])
coverage.ROOT = folder
for part in coverage.PARTS:
    (folder / part).mkdir(parents=True)
(folder / "backends/plan/A.cpp").write_text("if (wide)\n  emitWide();\nelse\n  refuse();\n")
(folder / "backends/plan/B.cpp").write_text("emit();\n")
lines = {"backends/plan/A.cpp": {1: 7, 2: 7, 4: 0}, "backends/plan/B.cpp": {1: 3}}
coverage.report(lines, folder / "unreached.txt")
