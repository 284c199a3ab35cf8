"""Asks `tkc serve FILE` what the lines of standard input say, with f32 numbers as the memory's contents: serve.py FILE NUMBER… . Prints
each answer, and the memory at the end."""
import os
import struct
import subprocess
import sys

numbers = list(map(float, sys.argv[2:]))
memory = os.memfd_create("test")
os.write(memory, struct.pack(f"{len(numbers)}f", *numbers))
child = subprocess.run(["tkc", "serve", sys.argv[1], "--memory", str(memory)], input=sys.stdin.read(), text=True,
                       capture_output=True, pass_fds=[memory])
print(child.stdout + child.stderr + f"exit code {child.returncode}")
print("memory", *struct.unpack(f"{len(numbers)}f", os.pread(memory, 4 * len(numbers), 0)))
