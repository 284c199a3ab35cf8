# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tkc and other compilers."""

import os
import subprocess
import sys
import time
from typing import List, Mapping, Optional, Sequence

from . import _paths
from ._errors import Error


def is_verbose() -> bool:
    return os.environ.get("TKC_VERBOSE", "0") not in ("", "0")


def say(text: str) -> None:
    print("tkc: " + text, file=sys.stderr, flush=True)


def run(command: Sequence[str], environment: Optional[Mapping[str, str]] = None, is_shown: bool = False) -> str:
    """Its standard output; an error is what it says on standard error, which `is_shown` lets through as it comes."""
    import shlex

    start = time.perf_counter()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if is_shown else subprocess.PIPE,
        text=True, errors="replace", env=environment,
    )  # fmt: skip
    if is_verbose():
        say(f"{time.perf_counter() - start:.2f} s  {' '.join(map(shlex.quote, command))}")
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise Error(said or f"`{command[0]}` ended with {done.returncode}")
    return done.stdout


def tkc(arguments: List[str]) -> str:
    return run([_paths.compiler(), *arguments])
