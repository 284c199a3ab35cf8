# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""demos/nanogpt: nanoGPT by tkc's kernels and by PyTorch's: one layer on the interpreter, 128 wide."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "demos" / "nanogpt"))

import train  # noqa: E402
from chart import write_chart  # noqa: E402
from gpt import GPT, Config, by_tkc, by_torch  # noqa: E402

CONFIG = Config(vocabulary=256, length=40, layers=1, width=128)


def gradients(ops, dtype):
    """The loss, and its gradients by the names of the weights."""
    model = GPT(CONFIG).initialise(seed=3).to(dtype)
    with torch.no_grad():
        for weights in model.parameters():  # so that every gradient is well away from nothing
            weights.mul_(4 if weights.dim() == 2 else 1)
    ids, target = torch.randint(256, (2, 2, 33), generator=torch.Generator().manual_seed(5))
    loss = model(ids, target, ops)
    loss.backward()
    return loss.detach(), {name: one.grad.double() for name, one in model.named_parameters()}


def test_gradients():
    """As far from those in f32 as PyTorch's own in bf16, or nearer."""
    loss, ours = gradients(by_tkc(), torch.bfloat16)
    torch_loss, theirs = gradients(by_torch, torch.bfloat16)
    exact_loss, exact = gradients(by_torch, torch.float32)
    assert abs(loss - exact_loss) < 2 * abs(torch_loss - exact_loss) + 1e-2
    assert ours.keys() == exact.keys()
    for name, wanted in exact.items():
        error, allowed = ((one[name] - wanted).norm() / wanted.norm() for one in (ours, theirs))
        assert wanted.norm() > 0 and error < 1.5 * allowed + 2e-3, name


def test_compiles_whole():
    """torch.compile sees through the operators and their gradients."""
    model = GPT(CONFIG).initialise(seed=3)
    ids, target = torch.randint(256, (2, 1, 16), generator=torch.Generator().manual_seed(5))
    ops = by_tkc()
    model(ids, target, ops).backward()
    expected = {name: one.grad.clone() for name, one in model.named_parameters()}
    model.zero_grad()
    torch.compile(model, backend="aot_eager", fullgraph=True)(ids, target, ops).backward()
    for name, one in model.named_parameters():
        torch.testing.assert_close(one.grad, expected[name], rtol=2e-2, atol=1e-4, msg=name)


def test_training(tmp_path):
    """Both sides learn the same from the same batches."""
    text = tmp_path / "text"
    text.write_bytes(b"In the beginning was the word, and the word was with tkc. " * 40)
    runs = train.main([
        str(text), "--steps", "8", "--batch", "2", "--length", "32", "--layers", "1", "--width", "128",
        "--validation", "2", "--device", "cpu", "--sides", "tkc", "--chart", str(tmp_path / "loss.svg"),
    ])  # fmt: skip
    options = {"steps": 8, "batch": 2, "length": 32, "layers": 1, "width": 128, "validation": 2, "seed": 1}
    options = type("Options", (), {**options, "text": text, "device": "cpu"})
    theirs = train.train(options, by_torch, is_compiled=False)
    ours = runs["tkc"]
    assert ours["losses"][0] == pytest.approx(theirs["losses"][0], abs=1e-2)
    assert ours["losses"][-1] < ours["losses"][0] - 0.2
    assert ours["losses"] == pytest.approx(theirs["losses"], abs=3e-2)
    assert ours["validation"] == pytest.approx(theirs["validation"], abs=3e-2)
    assert (tmp_path / "loss.svg").is_file()


def test_chart(tmp_path):
    write_chart(tmp_path / "c.svg", {"a & b": [3.0, 2.0, 1.0], "other": [3.0, 2.5, 2.0]})
    lines = ElementTree.parse(tmp_path / "c.svg").findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(one.get("points").split()) for one in lines] == [3, 3]
