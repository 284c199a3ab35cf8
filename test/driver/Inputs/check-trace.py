# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A trace of events is JSON as Perfetto reads it: every span lies in a named thread of a named process, and spans of one thread do not overlap.
import json
import sys

trace = json.load(open(sys.argv[1]))["traceEvents"]
processes = {e["pid"] for e in trace if e["ph"] == "M" and e["name"] == "process_name"}
threads = {(e["pid"], e["tid"]) for e in trace if e["ph"] == "M" and e["name"] == "thread_name"}
last = {}
spans = [e for e in trace if e["ph"] == "X"]
for event in spans:
    thread = event["pid"], event["tid"]
    assert event["pid"] in processes and thread in threads, event
    assert event["dur"] >= 0 and event["ts"] >= last.get(thread, 0) - 1e-6, event
    last[thread] = event["ts"] + event["dur"]
assert len(spans) > 100 and len(last) == len(threads)
