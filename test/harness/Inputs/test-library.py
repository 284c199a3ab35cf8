"""Runs `tkc test ARGS…` on every file of the kernel library, each day on the other half of its cases; prints what failed and a closing line."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "targets"))

import turns  # noqa: E402
from library import kernel_files  # noqa: E402

root, arguments = sys.argv[1], sys.argv[2:]
failed = 0
for path in kernel_files(root):
    command = ["tkc", "test", *arguments, f"--sample={turns.today() % 2}/2", str(path)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        failed += 1
        print(f"{' '.join(command)}\n{run.stderr}{run.stdout}")
print(f"{failed} files failed")
