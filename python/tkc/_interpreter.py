# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on tkc's interpreter: a child process that is kept, and memory that both see."""

import contextlib
import json
import mmap
import os
import subprocess
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple

from . import _paths, _tool
from ._errors import Error


def _end(process: "subprocess.Popen[bytes]", memory: mmap.mmap, handle: int, owner: int) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()
    if os.getpid() != owner:  # a forked process waits for nobody's child
        return
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(BufferError):
        memory.close()
    os.close(handle)


class _Child:
    """`tkc serve FILE`. It ends when its standard input does."""

    def __init__(self, file: str):
        self.owner = os.getpid()
        self.handle = os.memfd_create("tkc", os.MFD_CLOEXEC)
        self.size = 1 << 20
        os.ftruncate(self.handle, self.size)
        self.memory = mmap.mmap(self.handle, self.size)
        command = [_paths.compiler(), "serve", file, "--memory", str(self.handle)]
        if _tool.is_verbose():
            _tool.say(" ".join(command))
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[self.handle],
            start_new_session=True,  # Ctrl-C is for the caller
        )
        weakref.finalize(self, _end, self.process, self.memory, self.handle, self.owner)

    def reserve(self, size: int) -> None:
        if size <= self.size:
            return
        self.size = max(size, 2 * self.size)
        os.ftruncate(self.handle, self.size)
        self.memory.resize(self.size)

    def ask(self, request: Dict[str, Any]) -> Dict[str, Any]:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            said = self.process.stderr.read().decode(errors="replace").strip()
            raise Error(said or "the interpreter has ended")
        result: Dict[str, Any] = json.loads(answer)
        return result


_all: "weakref.WeakSet[Interpreter]" = weakref.WeakSet()


def _after_fork() -> None:
    for interpreter in list(_all):
        interpreter.forget()


os.register_at_fork(after_in_child=_after_fork)


class Interpreter:
    """Of one file. Threads take turns; a forked process starts a child of its own."""

    def __init__(self, file: str):
        self._file = file
        self._lock = threading.Lock()
        self._child: Optional[_Child] = None
        _all.add(self)

    def forget(self) -> None:
        """In a forked process: the child, and whoever holds the lock, are the parent's."""
        self._lock = threading.Lock()
        self._child = None

    def call(
        self,
        name: str,
        tensors: Dict[str, Tuple[str, Tuple[int, ...], Any]],
        outputs: List[str],
        numbers: Dict[str, Any],
        reads: List[str],
        reference: Optional[Dict[str, Any]] = None,
    ) -> Dict[str, Any]:
        """`tensors`: element type, shape and an array of bits by parameter. Those in `reads` are passed, and those in
        `outputs` are written. Of a reference: for each output its values and tolerances, as float64."""
        import numpy

        def place(count: int) -> int:
            nonlocal end
            start = end
            end = (end + count + 63) // 64 * 64
            return start

        end = 0
        described: Dict[str, Dict[str, Any]] = {}
        for key, (elem, shape, bits) in tensors.items():
            described[key] = {"type": elem, "dims": list(shape), "at": place(bits.nbytes)}
            if reference is not None and key in outputs:
                count = 8 * int(numpy.prod(shape, dtype="int64"))
                described[key]["values"], described[key]["tolerances"] = place(count), place(count)
        request = {"call": name, "tensors": described, "numbers": numbers}
        if reference is not None:
            request.update(reference=True, **reference)

        def seen(at: int, dtype: Any, shape: Any) -> Any:
            return numpy.ndarray(shape, dtype, child.memory, at)

        with self._lock:
            if self._child is None:
                self._child = _Child(self._file)
            child = self._child
            child.reserve(end)
            for key in reads:
                bits = tensors[key][2]
                seen(described[key]["at"], bits.dtype, bits.shape)[...] = bits
            try:
                answer = child.ask(request)
            except BaseException:  # also where somebody pressed Ctrl-C: what it answers later is for nobody
                child.process.kill()
                self._child = None
                raise
            if "error" in answer:
                raise Error(answer["error"].rstrip())
            if reference is not None:
                return {
                    key: tuple(
                        seen(described[key][of], "f8", tensors[key][1]).copy() for of in ("values", "tolerances")
                    )
                    for key in outputs
                }
            for key in outputs:
                bits = tensors[key][2]
                bits[...] = seen(described[key]["at"], bits.dtype, bits.shape)
        return {}
