# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predictions of gemm_nt 2536×3360×K in tiles of 192 columns, two warpgroups in turns, beside what was measured."""
import json
import subprocess
import sys

tkc, file = sys.argv[1:]
MEASURED = [(3328, 1, 84), (3336, 4, 91), (3344, 1, 96), (3336, 2, 103), (3336, 1, 137)]  # k, blocks of a cluster, µs


def predicted(k, cluster):
    keys = ["--set", "BN=192", "--set", "pingpong=1", "--set", f"cluster={cluster}"]
    out = subprocess.run([tkc, "explain", file, "--filter", "gemm_nt", "--case", "1", "--size", f"M=2536,N=3360,K={k}",
                          "--no-advice", "--clean-cache", "--json", *keys], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["cases"][0]["seconds"] * 1e6


times = [(predicted(k, cluster), measured) for k, cluster, measured in MEASURED]
for (k, cluster, measured), (time, _) in zip(MEASURED, times):
    print(f"K = {k}, clusters of {cluster}: {time:.1f} µs, measured {measured}", file=sys.stderr)
print("in the measured order:", times == sorted(times))
