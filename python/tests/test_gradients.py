# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients that .tk files declare, beside differences of the references of what they are the gradients of."""

import numpy as np
import pytest

import tkc

#: Inputs are multiples of it, and no larger than 3: with two steps more they are exact in bf16.
STEP = 2.0**-5


def _array(values, elem):
    return tkc.array(values, elem)


def _turns(angles):
    """exp(-2πi · angles), the real and the imaginary part."""
    return [np.cos(2 * np.pi * angles), -np.sin(2 * np.pi * angles)]


def _convolution():
    """Two rows of 32 elements with factors of a transform of 2048 points, as the kernel's cases have them."""
    p, i, q = (np.arange(size) for size in (64, 64, 32))
    g = _turns(np.outer(p + 0.25, i + 0.25) / 64)
    f = _turns(np.outer(q, q) / 32)
    t = _turns(np.outer(p + 0.25, q) / 2048 - (p[:, None] + 0.25) / 256)
    return {"x": ("bf16", (1, 1, 2, 32)), "g": _array(np.array(g), "bf16"), "f": _array(np.array([*f, -f[1]]), "bf16"),
            "t": _array(np.array(t), "f32"), "k": ("f32", (2, 1, 64, 32))}  # fmt: skip


def _hedgehog():
    """Seven queries that see a chunk of keys by features. Only they depend on alpha: all values before them are 0, so that outputs that are
    rounded do not come near to its gradient. Keys and queries are small, as weights of feature maps move features by them. The largest score
    of a query is that of key 128, however far steps go: where another one becomes the largest, the derivative jumps."""
    generator = np.random.default_rng(7)
    shapes = {"q": (1, 1, 135, 64), "k": (1, 1, 135, 64), "v": (1, 1, 135, 64), "wq": (1, 64, 32), "wk": (1, 64, 32)}
    values = {name: generator.integers(-8, 9, size=shape) for name, shape in shapes.items()}
    values["q"][..., :8] = 16
    values["k"][:, :, 128, :8] = 16
    values["v"] *= 8 * (np.arange(135)[:, None] >= 128)
    factors = {"alpha": _array(np.array([0.25]), "f32"), "beta": _array(np.array([1.0]), "f32"), "scale": 1.0}
    return {name: _array(value * STEP, "bf16") for name, value in values.items()} | factors


#: File, kernel, and the type, shape or value of each input; calls for every `when` of every gradient of the library.
CALLS = [
    ("attention.tk", "attn_fwd", {"q": ("bf16", (1, 2, 5, 64)), "k": ("bf16", (1, 2, 7, 64)), "v": ("bf16", (1, 2, 7, 64)),
                                  "scale": 0.125, "causal": True}),
    ("attention.tk", "attn_fwd", {"q": ("bf16", (1, 4, 5, 64)), "k": ("bf16", (1, 2, 7, 64)), "v": ("bf16", (1, 2, 7, 64)),
                                  "scale": 0.125}),
    ("cross_entropy.tk", "cross_entropy", {"logits": ("f32", (4, 9)), "target": np.array([3, -1, 0, 8])}),
    ("head_cross_entropy.tk", "head_cross_entropy",
     {"x": ("bf16", (5, 7)), "w": ("bf16", (9, 7)), "target": np.array([3, -1, 0, 8, 2]), "splits": 2}),
    ("norms.tk", "rms_norm", {"x": ("bf16", (2, 1024)), "weight": ("bf16", (1024,))}),
    ("norms.tk", "rms_norm_any", {"x": ("bf16", (3, 17)), "weight": ("bf16", (17,)), "eps": 0.25}),
    ("norms.tk", "layer_norm", {"x": ("bf16", (2, 1024)), "weight": ("bf16", (1024,)), "bias": ("bf16", (1024,))}),
    ("norms.tk", "layer_norm_any", {"x": ("bf16", (3, 17)), "weight": ("bf16", (17,)), "bias": ("bf16", (17,)),
                                    "eps": 0.25}),
    ("linear_attention/linear_attention.tk", "simple_gated",
     {"q": ("bf16", (1, 2, 7, 64)), "k": ("bf16", (1, 2, 7, 64)), "v": ("bf16", (1, 2, 7, 64)),
      "gate": np.full((1, 2, 7), -0.1, dtype="float32"), "scale": 0.125}),
    ("state_space/mamba2.tk", "chunk_scan",
     {"c": ("bf16", (1, 7, 1, 64)), "b": ("bf16", (1, 7, 1, 64)), "x": ("bf16", (1, 7, 2, 64)),
      "dt": _array(np.arange(2, 16).reshape(1, 2, 7) * STEP, "f32"), "a": _array(np.array([-0.5, -2.0]), "f32"),
      "skip": ("f32", (2,))}),
    ("linear_attention/gated.tk", "gated",
     {"q": ("bf16", (1, 1, 7, 64)), "k": ("bf16", (1, 1, 7, 64)), "v": ("bf16", (1, 1, 7, 64)),
      "gate": _array(-np.arange(3, 3 + 7 * 64).reshape(1, 1, 7, 64) % 40 * STEP - 3 * STEP, "f32"), "scale": 0.125}),
    ("linear_attention/based.tk", "based",
     {"q": ("bf16", (1, 2, 7, 16)), "k": ("bf16", (1, 2, 7, 16)), "v": ("bf16", (1, 2, 7, 64))}),
    ("linear_attention/delta.tk", "gated_delta",
     {"q": ("bf16", (1, 1, 7, 64)), "k": _array((np.arange(7 * 64) * 37 % 17 - 8).reshape(1, 1, 7, 64) * STEP, "bf16"),
      "v": ("bf16", (1, 1, 7, 64)), "g": _array(-np.arange(1, 8).reshape(1, 1, 7) * 3 * STEP, "f32"),
      "beta": _array(np.arange(8, 64, 8).reshape(1, 1, 7) * STEP, "f32"), "scale": 0.125}),
    ("linear_attention/hedgehog.tk", "hedgehog", _hedgehog()),
    ("linear_attention/kimi_delta.tk", "kimi_delta",
     {"q": ("bf16", (1, 1, 7, 64)), "k": _array((np.arange(7 * 64) * 37 % 17 - 8).reshape(1, 1, 7, 64) * STEP, "bf16"),
      "v": ("bf16", (1, 1, 7, 64)),
      "gate": _array(-np.arange(3, 3 + 7 * 64).reshape(1, 1, 7, 64) % 40 * STEP - 3 * STEP, "f32"),
      "beta": _array(np.arange(8, 64, 8).reshape(1, 1, 7) * STEP, "f32"), "scale": 0.125}),
    ("long_convolution/fft_convolution.tk", "fft_convolution", _convolution()),
    ("long_convolution/fft_convolution.tk", "gated_fft_convolution",
     _convolution() | {"before": ("bf16", (1, 1, 2, 32)), "after": ("bf16", (1, 1, 2, 32))}),
    ("extra/window_training.tk", "window_fwd",
     {"q": ("bf16", (1, 2, 7, 64)), "k": ("bf16", (1, 2, 7, 64)), "v": ("bf16", (1, 2, 7, 64)), "scale": 0.125, "window": 3}),
    ("extra/window_training.tk", "window_fwd",
     {"q": ("bf16", (1, 4, 7, 64)), "k": ("bf16", (1, 2, 7, 64)), "v": ("bf16", (1, 2, 7, 64)), "scale": 0.125, "window": 4}),
    ("extra/ragged_training.tk", "ragged_fwd",
     {"q": ("bf16", (7, 2, 64)), "k": ("bf16", (7, 2, 64)), "v": ("bf16", (7, 2, 64)),
      "cu": np.array([0, 3, 3, 7], dtype="int32"), "scale": 0.125}),
    ("extra/ragged_training.tk", "ragged_fwd",
     {"q": ("bf16", (7, 4, 64)), "k": ("bf16", (7, 2, 64)), "v": ("bf16", (7, 2, 64)),
      "cu": np.array([0, 1, 7], dtype="int32"), "scale": 0.125, "causal": False}),
    ("extra/embedding.tk", "embedding", {"table": ("bf16", (6, 5)), "ids": np.array([3, -1, 0, 5, 3])}),
    ("extra/dropout.tk", "dropout", {"x": ("bf16", (6, 40)), "p": 0.25, "seed": 7}),
]  # fmt: skip


def _value(array):
    return array.numpy().astype("float64") if isinstance(array, tkc.Array) else np.asarray(array, dtype="float64")


def _as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def _inputs(call, generator):
    made = {}
    for name, value in call.items():
        is_random = isinstance(value, tuple)
        made[name] = _array(generator.integers(-96, 97, size=value[1]) * STEP, value[0]) if is_random else value
    return made


def _backward(kernel, gradient, inputs, outputs, upstream):
    """The gradients that the reference of what computes them gives, by inputs of the kernel."""
    backward = kernel.backward(gradient)
    types = {one.name: one.type for one in kernel.signature.tensors}
    elems = {types[name]: value.type for name, value in inputs.items() if isinstance(value, tkc.Array)}
    arguments, wanted = {}, {}
    for parameter, value, is_gradient in gradient.arguments:
        mode = next(one.mode for one in backward.signature.parameters if one.name == parameter)
        if mode != "in":
            wanted[parameter] = value
            if mode == "inout":
                arguments[parameter] = np.zeros(inputs[value].shape, dtype="float32")
            continue
        if is_gradient or value in outputs:
            values = upstream[value] if is_gradient else outputs[value]
            arguments[parameter] = _array(values, elems.get(types[value], types[value]))
        else:
            default = next(one.default for one in kernel.signature.parameters if one.name == value)
            arguments[parameter] = inputs.get(value, default)
    results = _as_tuple(backward.reference(**arguments))
    written = [one.name for one in backward.signature.tensors if one.mode != "in"]
    return {wanted[name]: result for name, result in zip(written, results)}


@pytest.mark.parametrize("file,name,call", CALLS, ids=[f"{one[1]}-{at}" for at, one in enumerate(CALLS)])
def test_differences(kernels, file, name, call):
    """Of sum(upstream · output) along random directions, by central differences of fourth order.

    Their points are exact in the inputs' types. What differs is the rounding of outputs that the backward pass gets: half a unit in the last
    place of bf16, 2⁻⁹ of each. A gradient is a sum of products with two such factors, in which they may cancel.
    """
    generator = np.random.default_rng(5)
    kernel = tkc.load(kernels / file)[name]
    inputs = _inputs(call, generator)
    outputs = dict(zip([one.name for one in kernel.signature.outputs], _as_tuple(kernel.reference(**inputs))))
    gradient = kernel.gradient(**inputs)
    taken = {value for parameter, value, is_gradient in gradient.arguments if is_gradient and value in outputs}
    upstream = {n: _value(_array(generator.normal(size=outputs[n].shape), "bf16")) for n in taken}
    found = _backward(kernel, gradient, inputs, outputs, upstream)
    assert found
    for of, values in found.items():
        elem = inputs[of].type

        def loss(at, of=of, elem=elem):
            results = _as_tuple(kernel.reference(**{**inputs, of: _array(at, elem)}))
            return sum(np.sum(upstream[n] * r) for n, r in zip(outputs, results) if n in taken)

        start = _value(inputs[of])
        for signs in (np.sign(values), np.sign(values), None):
            # Uphill, where every element counts, and anywhere; of half of the elements.
            signs = generator.choice([-1.0, 1.0], size=start.shape) if signs is None else signs
            step = STEP * signs * generator.choice([0, 1], size=start.shape)
            points = [_value(_array(start + factor * step, elem)) for factor in (1, -1, 2, -2)]
            for point, factor in zip(points, (1, -1, 2, -2)):
                np.testing.assert_array_equal(point, start + factor * step)
            near, far = loss(points[0]) - loss(points[1]), loss(points[2]) - loss(points[3])
            expected, got = (8 * near - far) / 12, np.sum(values * step)
            assert abs(expected - got) <= 2.0**-7 * np.sum(np.abs(values * step)), (of, expected, got)


def test_every_gradient_of_the_library_is_tried(kernels):
    tried = {(file, name) for file, name, _ in CALLS}
    for file in sorted(kernels.rglob("*.tk")):
        if "\ngradient " in file.read_text():
            for kernel in tkc.load(file):
                if kernel.signature.gradients:
                    assert (str(file.relative_to(kernels)), kernel.signature.name) in tried
