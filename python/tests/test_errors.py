# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One exception, which names the argument in the launcher's words."""

import numpy as np
import pytest

import tkc

TEXT = """
kernel grouped<T: {bf16, f16}>(x: T[N, 8 * G], a: f32[G], out y: T[N, 8 * G], scale: f32, n: i32 = 1,
                               const w: i32 = 1) where N % 2 == 0, scale > 0, w in {1, 2} {
  parallel i in tiles(N, 16), g in 0..G {
    for c in tiles(8 * g, 8 * g + 8, 8) { y[i, c] = T(f32(x[i, c]) * a[g] * scale); }
  }
}
kernel stops(x: f32[N], at: i32[1], out y: f32[N]) { parallel i in 0..N { y[i + at[0]] = x[i]; } }
"""


@pytest.fixture(scope="module")
def module():
    return tkc.load(TEXT)


def half(*shape):
    return np.ones(shape, "float16")


def single(*shape):
    return np.ones(shape, "float32")


CASES = {
    "missing": (lambda k: k.grouped(half(4, 24)), "grouped: `a` is missing"),
    "null": (lambda k: k.grouped(None, single(3), 1.0), "grouped: `x` is null"),
    "no tensor": (lambda k: k.grouped(half(4, 24), [1.0], 1.0), "grouped: `a` is not a tensor"),
    "rank": (lambda k: k.grouped(half(4, 24), single(3, 1), 1.0), "grouped: `a` has 2 dims, it needs 1"),
    "type": (lambda k: k.grouped(half(4, 24), np.ones(3), 1.0), "grouped: `a` is f64, it must be f32"),
    "two types": (
        lambda k: k.grouped(half(4, 24), single(3), 1.0, out=tkc.array(half(4, 24), "bf16")),
        "grouped: `y` is bf16, it must be f16, as the other tensors of type `T`",
    ),
    "no choice": (
        lambda k: k.grouped(single(4, 24), single(3), 1.0),
        "grouped: the kernel asks for `T in {bf16, f16}`, which does not hold",
    ),
    "complex": (lambda k: k.grouped(half(4, 24).astype("complex64"), single(3), 1.0), "`x` is complex64, which no kernel takes"),
    "dim": (lambda k: k.grouped(half(4, 25), single(3), 1.0), "grouped: dim 1 of `x` is 25, but `8 * G` is 24 here"),
    "symbol": (lambda k: k.grouped(half(4, 24), single(3), 1.0, out=half(6, 24)), "grouped: dim 0 of `y` is 6, but `N` is 4 here"),
    "stride": (
        lambda k: k.grouped(half(4, 48)[:, ::2], single(3), 1.0),
        "grouped: the last dim of `x` has stride 2, it must be contiguous",
    ),
    "condition": (lambda k: k.grouped(half(4, 24), single(3), -1.0), "grouped: the kernel asks for `scale > 0`, which does not hold"),
    "condition on a dim": (lambda k: k.grouped(half(3, 24), single(3), 1.0), "grouped: the kernel asks for `N % 2 == 0`, which does not hold"),
    "const": (lambda k: k.grouped(half(4, 24), single(3), 1.0, w=3), "grouped: the kernel asks for `w in {1, 2}`, which does not hold"),
    "no integer": (lambda k: k.grouped(half(4, 24), single(3), 1.0, n=1.5), "grouped: `n` is not an integer"),
    "large": (lambda k: k.grouped(half(4, 24), single(3), 1.0, n=1 << 31), "grouped: `n` is 2147483648, which has more than 32 bits"),
    "no number": (lambda k: k.grouped(half(4, 24), single(3), "1"[:0]), "grouped: `scale` is not a number"),
    "twice": (lambda k: k.grouped(half(4, 24), single(3), 1.0, a=single(3)), "grouped: `a` is given twice"),
    "unknown": (lambda k: k.grouped(half(4, 24), single(3), scal=1.0), "grouped: it has no parameter `scal`; did you mean `scale`?"),
    "too many": (lambda k: k.stops(single(3), single(3), single(3)), "stops: it takes 2 arguments (x, at), this call has 3"),
    "outputs": (lambda k: k.grouped(half(4, 24), single(3), 1.0, out=[half(4, 24)] * 2), "grouped: `out` has 2 tensors, there are 1 outputs"),
    "running": (lambda k: k.stops(single(3), np.array([2], "int32")), "string.tk:8: "),
    "device": (lambda k: k.grouped(half(4, 24), single(3), 1.0, device="gpu"), "device='gpu': it may be"),
    "reference": (lambda k: k.stops.reference(single(3), np.array([0], "int32")), "`stops` has no reference"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_kernel_cannot_take(module, case):
    call, message = CASES[case]
    with pytest.raises(tkc.Error) as error:
        call(module)
    assert message in str(error.value)


def test_an_output_may_not_overlap(module):
    x = half(6, 24)
    with pytest.raises(tkc.Error, match="`y` is written and overlaps `x`"):
        module.grouped(x[:4], single(3), 1.0, out=x[2:])
    side_by_side = half(4, 48)
    module.grouped(side_by_side[:, :24], single(3), 1.0, out=side_by_side[:, 24:])


def test_a_broadcast_output(module):
    with pytest.raises(tkc.Error, match="`y` is written, and its elements along dim 0 are one in memory"):
        module.grouped(half(4, 24), single(3), 1.0, out=np.lib.stride_tricks.as_strided(half(24), (4, 24), (0, 2)))


def test_a_file_that_does_not_compile(tmp_path):
    file = tmp_path / "bad.tk"
    file.write_text("kernel f(x: f32[N], out y: f32[N]) { y = z; }\nkernel g(\n")
    with pytest.raises(tkc.Error, match=r"bad.tk:\d+:\d+: error: "):
        tkc.load(file)
    with pytest.raises(tkc.Error, match="cannot read `.*nowhere.tk`: No such file"):
        tkc.load(tmp_path / "nowhere.tk")


def test_a_kernel_that_does_not_elaborate_says_so_each_time():
    bad = tkc.load("kernel f(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 8) { y[i] = z[i]; } }").f
    for _ in range(2):
        with pytest.raises(tkc.Error, match="error: no name is called `z` here"):
            bad(single(3))


def test_no_such_kernel(module):
    with pytest.raises(AttributeError, match="has no kernel `group`; it has grouped, stops"):
        module.group  # noqa: B018


def test_the_interpreter_goes_on_after_an_error(module):
    with pytest.raises(tkc.Error):
        module.stops(single(3), np.array([2], "int32"))
    np.testing.assert_array_equal(module.stops(single(3), np.array([0], "int32")), single(3))
