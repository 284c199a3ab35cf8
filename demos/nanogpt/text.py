# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text to train on: the King James Version, 4.3 MB, from the Debian packages bible-kjv and bible-kjv-text.

    apt-get install bible-kjv      # once
    python3 demos/nanogpt/text.py kjv.txt
"""

import argparse
import subprocess
from pathlib import Path

import torch


def extract(path):
    with open(path, "wb") as file:
        subprocess.run(["bible", "gen1:1-rev22:21"], stdout=file, check=True)


class Text:
    """Bytes are the tokens. The last tenth of a text is kept for validation."""

    vocabulary = 256

    def __init__(self, path, length, device):
        tokens = torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint8).long()
        kept = len(tokens) - len(tokens) // 10
        self._parts = {"training": tokens[:kept].to(device), "validation": tokens[kept:].to(device)}
        self._length = length
        if len(self._parts["validation"]) <= length:
            raise SystemExit(f"{path}: {len(tokens)} bytes are too few for sequences of {length}")

    def batch(self, part, size, generator):
        """Sequences that begin anywhere, and the same moved by one token. `generator` is of the CPU: it draws the same on every machine."""
        tokens = self._parts[part]
        begin = torch.randint(len(tokens) - self._length, (size, 1), generator=generator)
        begin = begin.to(tokens.device, non_blocking=True)  # the CPU goes on ahead of the GPU
        at = begin + torch.arange(self._length, device=tokens.device)
        return tokens[at], tokens[at + 1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="where the text goes")
    extract(parser.parse_args().path)
