# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a compilation is, for people at a terminal."""

import os
import shutil
import sys
from typing import Callable, List, Sequence, Tuple


class _Bar:
    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.is_shown = total > 1 and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, name: str) -> None:
        if not self.is_shown:
            return
        width = 24
        filled = width * self.done // self.total
        line = f"[{'#' * filled}{'.' * (width - filled)}] {self.done}/{self.total} {name}"
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + line[:columns].ljust(columns))
        sys.stderr.flush()

    def end(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def run_all(tasks: Sequence[Tuple[str, Callable[[], object]]]) -> None:
    """As many at a time as there are processors. The first error is raised when what has begun has ended."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    bar = _Bar(len(tasks))
    errors: List[BaseException] = []
    with ThreadPoolExecutor(processors()) as pool:
        pending = {pool.submit(task): name for name, task in tasks}
        try:
            bar.show("")
            for one in as_completed(pending):
                if one.cancelled():
                    continue
                bar.done += 1
                bar.show(pending[one])
                error = one.exception()
                if error is not None:
                    errors.append(error)
                    for other in pending:
                        other.cancel()
        finally:
            bar.end()
    if errors:
        raise errors[0]
