"""Whether everything that random kernels leave out still goes wrong: check-known.py FOLDER-OF-THE-GENERATOR. Names what does not."""
import pathlib
import shlex
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from known import OPEN

folder = pathlib.Path(__file__).parent / "known"
examples = {path.stem: path for path in folder.glob("*.tk")}
for name in sorted(set(OPEN) ^ set(examples)):
    print(f"{name}: has {'no example' if name in OPEN else 'an example and no entry'}")
for name in sorted(set(OPEN) & set(examples)):
    command = shlex.split(examples[name].read_text().splitlines()[0].removeprefix("//").replace("FILE", str(examples[name])))
    if subprocess.run(command, capture_output=True).returncode == 0:
        print(f"{name}: goes well; delete its entry and its example")
print("done")
