"""idempotent.py FOLDER…: formats every .tk and .tks file below that has no syntax errors, and formats the result again.
Prints what the second time changed, and how many files there were."""
import pathlib
import subprocess
import sys


def formatted(path, text):
    return subprocess.run(["tkc", "fmt", path], input=text, capture_output=True)


count = 0
for folder in sys.argv[1:]:
    for path in sorted(pathlib.Path(folder).rglob("*.tk*")):
        if path.suffix not in (".tk", ".tks"):
            continue
        once = formatted(path, b"")
        if once.returncode == 1:
            continue
        twice = formatted("-", once.stdout)
        if once.returncode != 0 or twice.stdout != once.stdout:
            print("changes again:", path)
        count += 1
print("at least ten files" if count >= 10 else f"only {count} files")
