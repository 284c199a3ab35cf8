# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/families.py: rows of small sizes on the interpreter, and what it does with rows that fail, hang and end their process."""

import json
import subprocess
import sys
import time

import pytest

from conftest import ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "bench"))

import families  # noqa: E402
from family_rows import linear  # noqa: E402
from family_work import Kit, Row, Work  # noqa: E402

OURS, THEIRS = 1.0, 4.0


def work(error=0.0):
    """Of a kernel that does nothing, whose result is off by `error`, with a right, a wrong and a missing peer."""
    y, one = torch.empty(3), torch.ones(3, dtype=torch.float64)

    def missing():
        raise ImportError("there is none")

    sides = {"right": lambda: lambda: [one], "wrong": lambda: lambda: [one * 2], "missing": missing}
    return Work(lambda: y.fill_(1 + error), [y], lambda: [one], sides, moved=int(3e9), flops=0.0)


class Clock:
    """Times what it is given, without a GPU."""

    def in_turns(self, ours, *others):
        return OURS, [(THEIRS, THEIRS / OURS, (3.5, 4.5)) for _ in others]


def test_small_sizes_on_the_interpreter():
    result = families.measure(Row("linear", lambda kit: linear(kit, "retention", 64)), Kit("cpu", small=True), None)
    assert result["right"] and 0 < result["error"] < 2e-2


def test_peers_are_checked_and_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    row = Row("row", lambda kit: work(), share=0.9, ratio=3)
    result = families.measure(row, None, Clock())
    assert list(result["peers"]) == ["right"]
    assert result["missing"] == {"wrong": "its result is wrong: error 1.0e+00", "missing": "ImportError: there is none"}
    assert families.limit_of(result, "NVIDIA H100") == 1.0 and families.limit_of(result, "NVIDIA H200") == pytest.approx(3 / 4.2)
    assert families.verdict(row, result, "NVIDIA H100") == ("≥ 0.9 of the limit; ≥ 3 × the peer", True)
    assert families.verdict(Row("row", None, ratio=5), result, "NVIDIA H100")[1] is False
    assert families.verdict(Row("row", None, ratio=5, of="missing"), result, "NVIDIA H100") == ("≥ 0.5 of the limit, without its peer", True)


def test_a_wrong_result_is_never_met(monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    row = Row("row", lambda kit: work(error=0.1), share=0.1)
    result = families.measure(row, None, Clock())
    assert not result["right"] and families.verdict(row, result, "NVIDIA H100")[1] is False


def test_a_row_that_raises_is_a_row():
    def raises(kit):
        raise RuntimeError("no such kernel\nin this file")

    result = families.measure(Row("row", raises), None, None)
    assert result["failed"] == "RuntimeError: no such kernel" and not result["right"]


@pytest.mark.parametrize(
    "then, why", [("time.sleep(60)", "took longer than 1 s"), ("sys.exit('a fault')", "ended the process, exit code 1: a fault")]
)
def test_a_process_that_hangs_or_ends(tmp_path, monkeypatch, then, why):
    """The first row is written; the second one hangs, or ends the process."""
    monkeypatch.setattr(families, "START", 0)
    log, errors = tmp_path / "log.jsonl", tmp_path / "errors"
    log.write_text("{}\n")
    program = f"import sys, time\nopen({str(log)!r}, 'a').write('{{\"name\": \"first\"}}\\n')\n{then}"
    with errors.open("w") as file:
        process = subprocess.Popen([sys.executable, "-c", program], stderr=file)
    rows = {name: Row(name, None, seconds=1) for name in ("first", "second", "third")}
    begin = time.monotonic()
    families.watch(process, list(rows), log, rows, errors)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("name") for line in lines] == [None, "first", "second"] and lines[2]["failed"] == why
    assert time.monotonic() - begin < 20


def test_failed_rows_are_forgotten(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"device": "one"}\n{"name": "first", "failed": "why"}\n{"name": "second"}\n')
    families.forget_failures(log)
    assert log.read_text() == '{"device": "one"}\n{"name": "second"}\n'
