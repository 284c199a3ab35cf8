"""check-diagnostics.py ROOT: names every row of Diagnostics.def whose words occur in no test. A test quotes a part of the
message with the arguments filled in, so a row counts as tested if 14 characters in a row of its own words are quoted."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
suffixes = {".tk", ".tks", ".tkir", ".tkplan", ".test", ".cpp"}
tests = "\n".join(
    path.read_text(errors="replace") for path in sorted((root / "test").rglob("*")) if path.suffix in suffixes)
rows = re.findall(r'TKC_DIAG\((\w+), \w+,\s*"((?:[^"\\]|\\.)*)"\)', (root / "support/Diagnostics.def").read_text())


def is_tested(text):
    words = [part for part in re.split(r"\{\d*\}", text.replace('\\"', '"')) if part.strip()]
    windows = [part[i:i + 14] for part in words for i in range(max(1, len(part) - 13))]
    # A row whose words all come from elsewhere is tested where they are made.
    return not words or any(window in tests for window in windows)


for name, text in rows:
    if not is_tested(text):
        print("no test quotes", name)
print("more than a hundred rows" if len(rows) > 100 else f"only {len(rows)} rows")
