# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the kernels of the newer families beside what others have for the same work, in one process: state-space models, linear
attention, delta rules, Based, Hedgehog, long convolutions, latent and sparse attention, experts, sampling and the rest of family_rows.py.

    PYTHONPATH=python python3 bench/families.py --log LOG           # on a GPU, with nvcc and tkc
    PYTHONPATH=python python3 bench/families.py --dry               # anywhere: small sizes on the interpreter, nothing is timed

Every result is checked against a reference in f64 on fresh random inputs, and every peer's, too. family_peers.py says where the peers
are looked for; one that is missing or fails is named with its error, and the row is asked for half of its limit instead. The limit is the larger
of the time that moving every byte once takes and that of the products at 600 TFLOP/s.

First many processes at once compile what the rows need: our kernels, and what Triton's autotuner tries. Then a single process
checks and times one row after the other. LOG is JSON, a line a row, written at once: after an interrupt, or where --seconds ran out,
the same command goes on. A row that takes too long or ends the process is a failed row, and the rest goes on in a new process."""
import argparse
import contextlib
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

import family_peers
from family_rows import rows
from family_work import Kit
from random_shapes import read_log
from side_by_side import LEAD, Bench, largest_error, poison

BANDWIDTHS = {"H200": 4.2e12}  # bytes a second; of others H100's
BANDWIDTH, RATE = 3.0e12, 600e12
START = 45  # seconds that a process may take to begin its first row
LEFT_OFF = 3  # the exit code of a process that began no further row: time is over, or a fault has left its GPU context unusable


class PatientBench(Bench):
    """The GPU waits for as long as the CPU takes to queue a side, as some peers launch a dozen kernels from Python."""

    def __init__(self, rounds):
        super().__init__(".", rounds, [])
        self.leads = {}

    def lead_of(self, run):
        if run not in self.leads:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            self.leads[run] = max(LEAD, int(3e9 * (time.perf_counter() - begin)))
            torch.cuda.synchronize()
        return self.leads[run]


def message_of(problem):
    lines = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {lines[0] if lines else ''}"[:200]


def checked_sides(work, wanted):
    """The peers that do the work right: what launches them, their errors, and what is wrong with the others."""
    sides, errors, missing = {}, {}, {}
    for name, make in work.peers.items():
        try:
            side = make()
            results = work.compared(side())
            errors[name] = largest_error(results, wanted[: len(results)]) if results else None
            if errors[name] is None or errors[name] < work.peer_limit:
                sides[name] = side
            else:
                missing[name] = f"its result is wrong: error {errors[name]:.1e}"
        except Exception as problem:  # a peer that is missing must not cost the row
            missing[name] = message_of(problem)
    return sides, errors, missing


def measure(row, kit, bench):
    """What the log keeps of a row. Without a bench nothing is timed."""
    begin, result = time.monotonic(), {"name": row.name}
    try:
        work = row.make(kit)
        poison(*work.outputs)
        work.before()
        work.run()
        wanted = work.wanted()
        error = work.error() if work.error else largest_error(work.outputs, wanted)
        sides, errors, missing = checked_sides(work, wanted)
        result |= {"error": error, "right": error < work.limit, "moved": work.moved, "flops": work.flops, "missing": missing}
        del wanted
        if bench:
            torch.cuda.empty_cache()
            ms, others = bench.in_turns(work.run, *sides.values())
            result |= {"ms": ms, "peers": {name: {"ms": t, "ratio": ratio, "spread": spread, "error": errors[name]}
                                           for name, (t, ratio, spread) in zip(sides, others)}}
        else:
            result["peers"] = {name: {"error": errors[name]} for name in sides}
    except Exception as problem:  # one broken row must not hide the others
        result |= {"failed": message_of(problem), "right": False}
    return result | {"seconds": round(time.monotonic() - begin, 1)}


# ---- the processes ------------------------------------------------------------------------------------------------------------


def prepare(tasks):
    """Runs kernels and peers of rows once, each (NAME, i): of what an autotuner tries for row NAME, every n-th configuration from the i-th
    on, where n processes share the row out. What fails here fails again, and is said, where the row is timed."""
    by_name = {row.name: row for row in rows()}
    family_peers.shorten_trials((tasks[0][1], by_name[tasks[0][0]].processes), milliseconds=1)
    for name, index in tasks:
        with contextlib.suppress(Exception):
            work = by_name[name].make(Kit("cuda", small=False))
            for side in ([lambda: work.run] if index == 0 else []) + list(work.peers.values()):
                with contextlib.suppress(Exception):
                    side()()
            torch.cuda.synchronize()
        work = None
        torch.cuda.empty_cache()


def context_works():
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return True
    except RuntimeError:
        return False


def time_rows(names, log, rounds, deadline):
    """The timing process: a line of the log for each row."""
    family_peers.shorten_trials()
    bench, kit = PatientBench(rounds), Kit("cuda", small=False)
    by_name = {row.name: row for row in rows()}
    for name in names:
        if time.time() > deadline:
            sys.exit(LEFT_OFF)
        result = measure(by_name[name], kit, bench)
        bench.leads.clear()
        with log.open("a") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")
        print(report(result), flush=True)
        if not context_works():
            os._exit(LEFT_OFF)  # an orderly exit would wait for the GPU


def call_myself(*arguments):
    return [sys.executable, __file__, *map(str, arguments)]


def prepare_all(wanted, jobs, seconds):
    """Compiles on all processors what the rows need: those that several processes share out last, and up to three of the others a process."""
    begin = time.monotonic()

    def one(tasks):
        left = seconds - (time.monotonic() - begin)
        if left > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(call_myself("--prepare", json.dumps(tasks)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=left)

    shared = sorted((row for row in wanted if row.processes > 1), key=lambda row: -row.processes)
    alone = [(row.name, 0) for row in wanted if row.processes == 1]
    step = min(3, max(1, -(-len(alone) // jobs)))
    tasks = [alone[i : i + step] for i in range(0, len(alone), step)] + [[(row.name, index)] for row in shared for index in range(row.processes)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, tasks))
    print(f"compiled in {time.monotonic() - begin:.0f} s by {len(tasks)} processes, {jobs} at a time", flush=True)


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def forget_failures(log):
    kept = [line for line in lines_of(log) if "failed" not in json.loads(line)]
    log.write_text("".join(line + "\n" for line in kept))


def watch(process, names, log, by_name, errors):
    """Waits for a timing process. A row that takes longer than it may ends it. Adds the row that ended it to the log."""
    begin, known = time.monotonic(), len(lines_of(log))
    done, limit = 0, START
    while process.poll() is None:
        count = len(lines_of(log)) - known
        if count > done:
            begin, done, limit = time.monotonic(), count, 0
        if done < len(names) and time.monotonic() - begin > limit + by_name[names[done]].seconds:
            process.kill()
            process.wait()
            break
        time.sleep(0.2)
    done = len(lines_of(log)) - known
    if process.returncode in (0, LEFT_OFF) or done == len(names):
        return
    last = (lines_of(errors) or [""])[-1][:160]
    why = f"took longer than {by_name[names[done]].seconds} s" if process.returncode == -9 else f"ended the process, exit code {process.returncode}: {last}"
    with log.open("a") as file:
        file.write(json.dumps({"name": names[done], "failed": why, "right": False}) + "\n")


def time_all(names, options, deadline):
    by_name, errors = {row.name: row for row in rows()}, options.log.with_suffix(".errors")
    while names and time.time() < deadline:
        with errors.open("w") as file:
            process = subprocess.Popen(call_myself("--worker", json.dumps(names), "--log", options.log, "--rounds", options.rounds,
                                                   "--until", deadline), stderr=file)
        watch(process, names, options.log, by_name, errors)
        done = {json.loads(line).get("name") for line in lines_of(options.log)}
        names = [name for name in names if name not in done]
    return names


# ---- the table ----------------------------------------------------------------------------------------------------------------


def fastest(result):
    peers = result.get("peers", {})
    timed = {name: side for name, side in peers.items() if "ms" in side}
    return min(timed.items(), key=lambda item: item[1]["ratio"], default=(None, None))


def limit_of(result, device):
    bandwidth = next((value for name, value in BANDWIDTHS.items() if name in device), BANDWIDTH)
    return 1e3 * max(result["moved"] / bandwidth, result["flops"] / RATE)


def verdict(row, result, device):
    """What is asked of a row, and whether it is reached."""
    share = limit_of(result, device) / result["ms"]
    name, side = fastest(result)
    asked = [(f"≥ {row.share:g} of the limit", share >= row.share)] if row.share else []
    if row.of:
        side = result["peers"].get(row.of)
    if row.ratio and side:
        asked.append((f"≥ {row.ratio:g} × {row.of or 'the peer'}", side["ratio"] >= row.ratio))
    elif row.ratio:
        asked.append(("≥ 0.5 of the limit, without its peer", share >= 0.5))
    return "; ".join(text for text, _ in asked) or "–", all(met for _, met in asked) and result["right"]


def report(result):
    if "failed" in result:
        return f"{result['name']:36} FAILED: {result['failed']}"
    wrong = "" if result["right"] else " WRONG"
    ours = f" {result['ms'] * 1e3:9.1f} µs" if "ms" in result else ""
    sides = "".join(f", {name}" + (f" {side['ms'] * 1e3:.1f} ({side['ratio']:.2f})" if "ms" in side else "") +
                    ("" if side["error"] is None else f" error {side['error']:.0e}") for name, side in result["peers"].items())
    missing = "".join(f"\n    {name}: {text}" for name, text in result["missing"].items())
    return f"{result['name']:36} error {result['error']:7.1e}{wrong}{ours}{sides} [{result['seconds']} s]{missing}"


def table(results, device):
    by_name = {result["name"]: result for result in results}
    out = ["| kernel | µs | fastest peer | µs | ratio | limit, µs | share | asked | met |", "|---" * 9 + "|"]
    for row in rows():
        result = by_name.get(row.name)
        if result is None:
            continue
        if "ms" not in result:
            out.append(f"| {row.name} | – | – | – | – | – | – | – | no: {result['failed']} |")
            continue
        name, side = fastest(result)
        limit = limit_of(result, device)
        asked, met = verdict(row, result, device)
        theirs = f"{name} | {side['ms'] * 1e3:.1f} | {side['ratio']:.2f}" if side else "none | – | –"
        met = "WRONG" if not result["right"] else "–" if asked == "–" else "yes" if met else "no"
        met += f" ({row.note})" if row.note else ""
        out.append(f"| {row.name} | {result['ms'] * 1e3:.1f} | {theirs} | {limit * 1e3:.1f} | {limit / result['ms']:.2f} | {asked} | {met} |")
    out += [""] + [f"- {result['name']}, {name}: {text}" for result in results for name, text in result.get("missing", {}).items()]
    return "\n".join(out) + "\n"


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--dry", action="store_true", help="small sizes on the CPU: kernels on tkc's interpreter, peers that run there")
    parser.add_argument("--tkc", help="the compiler, else the package's own, TKC_COMPILER or tkc in PATH")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these")
    parser.add_argument("--again", action="store_true", help="tries rows again that failed before")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=math.inf, help="no row is begun after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile at once")
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.log and not options.dry and not options.prepare:
        parser.error("--log says where the rows are written")
    return options


def main():
    options, begin = options_of(), time.time()
    found = options.tkc or shutil.which("tkc")
    if found and (options.tkc or "TKC_COMPILER" not in os.environ):
        os.environ["TKC_COMPILER"] = found
    wanted = [row for row in rows() if not options.only or any(part in row.name for part in options.only)]
    if options.prepare:
        return prepare(json.loads(options.prepare))
    if options.worker:
        return time_rows(json.loads(options.worker), options.log, options.rounds, options.until)
    if options.dry:
        results = []
        for row in wanted:
            results.append(measure(row, Kit("cpu", small=True), None))
            print(report(results[-1]), flush=True)
        return 0 if all(result["right"] for result in results) else 1
    device = torch.cuda.get_device_name()
    compiler = hashlib.sha256(Path(os.environ["TKC_COMPILER"]).read_bytes()).hexdigest()[:16] if "TKC_COMPILER" in os.environ else "the package's"
    if options.again:
        forget_failures(options.log)
    known = {row["name"] for row in read_log(options.log, {"device": device, "torch": torch.__version__, "compiler": compiler})}
    left = [row for row in wanted if row.name not in known]
    prepare_all(left, options.jobs, min(300, options.seconds / 2))
    unbegun = time_all([row.name for row in left], options, begin + options.seconds)
    results = [json.loads(line) for line in lines_of(options.log)[1:]]
    print(f"\n{device}, torch {torch.__version__}\n\n{table(results, device)}")
    if unbegun:
        print(f"{len(unbegun)} rows are left: the same command goes on")
    return 0 if not unbegun and all(result["right"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
