"""hostile.py FOLDER: runs tkc on inputs that nobody should write, at every level that reads text. Each run has 5 seconds of
processor time and 1 GiB, and must end with exit code 0, 1 or 66. Prints what did not, and how many runs there were."""
import os
import pathlib
import random
import resource
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
noise = random.Random(1)
deep = 100_000
inputs = {
    "empty.tk": b"",
    "empty.tkir": b"",
    "noise.tk": noise.randbytes(10_000_000),
    "noise.tkir": noise.randbytes(10_000_000),
    "letters.tk": bytes(noise.choices(b"abc (){}[];=<>.,:+-*/@%\n\"0123456789", k=10_000_000)),
    "letters.tkir": bytes(noise.choices(b"abc (){}[];=<>.,:+-*/@%\n\"0123456789", k=10_000_000)),
    "zeros.tk": bytes(10_000_000),
    "one-name.tk": b"a" * 10_000_000,
    "one-string.tk": b'import "' + b"a" * 10_000_000,
    "no-utf8.tk": b"\xff\xfe\xc0\x80" * 1_000_000,
    "comments.tk": b"/// x\n" * 1_500_000,
    "many-statements.tk": b"kernel k(a: f32[N]) {" + b"let a = 1; " * 800_000 + b"}",
    "many-kernels.tk": b"kernel k(a: f32[N]) { }\n" * 20_000,
    "long-list.tk": b"case k { a = [" + b"1, " * 1_000_000 + b"]; }",
    "deep-parens.tk": b"fn f(x) = " + b"(" * deep,
    "deep-calls.tk": b"fn f(x) = " + b"f(" * deep + b"x" + b")" * deep + b";",
    "deep-signs.tk": b"fn f(x) = " + b"-" * deep + b"x;",
    "deep-not.tk": b"fn f(x) = " + b"not " * deep + b"x;",
    "deep-sum.tk": b"fn f(x) = x" + b" + x" * deep + b";",
    "deep-members.tk": b"fn f(x) = x" + b".T" * deep + b";",
    "deep-lists.tk": b"case k { a = " + b"[" * deep + b"]" * deep + b"; }",
    "deep-blocks.tk": b"kernel k(a: f32[N]) " + b"{" * deep + b"}" * deep,
    "deep-loops.tk": b"kernel k(a: f32[N]) {" + b"for i in 0..N {" * deep,
    "deep-else.tk": b"kernel k(a: f32[N]) {" + b"if a { } else " * deep + b"{ } }",
    "deep-choice.tk": b"reference k { a = " + b"if a then 1 else " * deep + b"1; }",
    "deep-calls-of-functions.tk": b"".join(b"fn f%d(x) = f%d(x) + f%d(x);\n" % (i, i + 1, i + 1) for i in range(60))
    + b"fn f60(x) = x;\nkernel k(a: f32[N], out b: f32[N]) { parallel i in tiles(N, 8) { b[i] = f0(a[i]); } }",
    "many-real-kernels.tk": b"".join(
        b"kernel k%d(a: f32[N], out b: f32[N]) { parallel i in tiles(N, 8) { b[i] = a[i] + 1; } }\n" % i for i in range(1500)),
    "many-masks.tk": b"kernel k(a: f32[N, M], out b: f32[N]) { parallel i in tiles(N, 8) { var s = zeros(8, 1); "
    b"for j in tiles(M, 8) { " + b"".join(b"s += rowsum(exp(a[i, j] * %d.5)); " % i for i in range(500)) + b"} b[i] = s; } }",
    "many-paths.tk": b"kernel k(a: bf16[P, N, M], c: bf16[M, N], out b: f32[N, N]) { parallel i in tiles(N, 64), j in tiles(N, 64) { "
    b"let x0 = i.index; " + b"".join(b"let x%d = x%d + x%d * 7; " % (i + 1, i, i) for i in range(64))
    + b"var s = zeros(64, 64); for m in tiles(M, 64) { s += a[x64 % P, i, m] @ c[m, j]; } "
    b"let t0 = s; " + b"".join(b"let t%d = t%d * 2 + t%d; " % (i + 1, i, i) for i in range(64)) + b"b[i, j] = t64; } }",
    "self-import.tk": b'import "self-import.tk";\n',
}


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (5, 6))


def run(*command):
    """The exit code, or why there is none."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return "waits for something"
    if len(done.stderr) > 100_000:
        return "100 kB of messages"
    return done.returncode if done.returncode in (0, 1, 66) else f"exit code {done.returncode}: {done.stderr[-300:]}"


count = 0
for name, data in inputs.items():
    path = folder / name
    path.write_bytes(data)
    commands = [("tkc", path, "-o", os.devnull)]
    if path.suffix == ".tk":
        commands += [("tkc", "fmt", path), ("tkc", "--emit=ast", path, "-o", os.devnull), ("tkc", "test", path)]
    for command in commands:
        count += 1
        result = run(*command)
        if isinstance(result, str):
            print("tkc", *command[1:], "->", result)
    path.unlink()
print(count, "runs")
