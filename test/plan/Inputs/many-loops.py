# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""many-loops.py COUNT: a kernel with so many loops over the same two tensors, and one whose operands are of one tensor."""
import sys

count = int(sys.argv[1])
loops = "    for k in tiles(K, 16) { acc += a[m, k] @ b[k, n]; }\n" * count
print(f"""kernel many(a: bf16[M, K], b: bf16[K, N], out c: bf16[M, N]) {{
  parallel m in tiles(M, 64), n in tiles(N, 64) {{
    var acc = zeros(64, 64);
{loops}    c[m, n] = acc;
  }}
}}
reference many {{ c[m, n] = sum(r in 0..{count}, sum(k, a[m, k] * b[k, n])); }}
case many {{ M = 70; N = 136; K = 40; }}
case many {{ M = 65; N = 67; K = 33; }}

kernel gram(a: bf16[M, K], inout c: bf16[M, M]) {{
  parallel m in tiles(M, 64), n in tiles(M, 64) {{
    var acc = zeros(64, 64);
    for k in tiles(K, 64) {{ acc += a[m, k] @ a[n, k].T; }}
    for k in tiles(K, 64) {{ acc += a[m, k] @ a[n, k].T; }}
    c[m, n] = acc + c[m, n];
  }}
}}
reference gram {{ c[m, n] = sum(r in 0..2, sum(k, a[m, k] * a[n, k])) + c[m, n]; }}
case gram {{ M = 72; K = 136; }}""")
