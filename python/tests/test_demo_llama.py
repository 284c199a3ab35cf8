# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""demos/llama: small random models of each class of transformers, written as transformers write them: logits beside transformers' own."""

import sys

import pytest

from conftest import ROOT

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")
sys.path.insert(0, str(ROOT / "demos" / "llama"))

from llama import Cache, Llama, Step  # noqa: E402
from peer import Peer  # noqa: E402

SIZES = {"intermediate_size": 192, "num_hidden_layers": 2, "vocab_size": 300, "max_position_embeddings": 256}
STRETCHED = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
MODELS = {
    "llama": ("Llama", {"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 1}),
    "llama-3.1": (
        "Llama",
        {"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "rope_parameters": STRETCHED},
    ),
    "qwen2": ("Qwen2", {"hidden_size": 448, "num_attention_heads": 7, "num_key_value_heads": 1}),
    "qwen3": (
        "Qwen3",
        {"hidden_size": 192, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128, "tie_word_embeddings": True},
    ),
}  # fmt: skip


@pytest.fixture(params=MODELS)
def folder(request, tmp_path):
    """A model in several files, whose weights of one dim are random, too."""
    name, sizes = MODELS[request.param]
    torch.manual_seed(7)
    config = getattr(transformers, name + "Config")(**SIZES, **sizes, initializer_range=0.05)
    model = getattr(transformers, name + "ForCausalLM")(config)
    with torch.no_grad():
        for one in model.parameters():
            if one.dim() == 1:
                one.add_(torch.randn_like(one) * 0.1)
    model.bfloat16().save_pretrained(tmp_path, max_shard_size="300KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    return tmp_path


def of_transformers(folder, ids, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    with torch.no_grad():
        return model(ids).logits.double()


def test_logits(folder):
    """Of prompts and of the tokens behind them: no further from those in f32 than transformers' own in bf16."""
    ids = torch.randint(300, (2, 134), generator=torch.Generator().manual_seed(1))
    exact, theirs = (of_transformers(folder, ids, dtype) for dtype in (torch.float32, torch.bfloat16))
    model = Llama.read(folder, "cpu")
    cache, sequences, begin = Cache(model.config, 7, "cpu"), [[], []], 127
    for one in sequences:
        cache.grow(one, begin)
    slots = torch.cat([cache.slots(one, 0, begin) for one in sequences])
    found = {begin - 1: model.prefill(ids[:, :begin], slots, cache)}
    for at in range(begin, 131):  # begins a page
        for one in sequences:
            cache.grow(one, at + 1)
        found[at] = model.decode(Step.of(cache, sequences, [at, at], ids[:, at].clone()), cache)
    alone = Step.of(cache, sequences[1:], [131], ids[1:, 131].clone())  # one sequence, whose products are of vectors
    cache.grow(sequences[1], 132)
    found[131] = model.decode(alone, cache)
    for at, logits in found.items():
        wanted = exact[2 - len(logits) :, at]
        error = (logits.double() - wanted).norm() / wanted.norm()
        allowed = (theirs[2 - len(logits) :, at] - wanted).norm() / wanted.norm()
        assert error < 1.5 * allowed, (at, error, allowed)


def test_generation(folder):
    """Prompts of different lengths in one batch, as each by itself."""
    model = Llama.read(folder, "cpu")
    prompts = [[5, 17, 200], list(range(70))]
    together = model.generate(prompts, 4)
    assert [len(one) for one in together] == [4, 4]
    ids = torch.tensor([prompts[1] + together[1]])
    logits = of_transformers(folder, ids, torch.float32)[0, len(prompts[1]) - 1 : -1]
    chosen = logits.gather(1, ids[0, len(prompts[1]) :, None])[:, 0]
    assert (chosen >= logits.max(1).values - 0.02 * logits.std()).all()


def test_pages():
    """Pages are taken as sequences grow, and come back."""
    from config import Config

    cache = Cache(Config(layers=1, key_heads=1, head=64), 3, "cpu")
    first, second = [], []
    cache.grow(first, 64)
    cache.grow(second, 65)
    assert (len(first), len(second)) == (1, 2) and len({*first, *second}) == 3
    assert cache.slots(second, 63, 66 - 1).tolist() == [second[0] * 64 + 63, second[1] * 64]
    with pytest.raises(RuntimeError, match="no page left"):
        cache.grow(first, 65)
    cache.release(second)
    cache.grow(first, 65)
    assert len(first) == 2


def test_what_is_refused(folder):
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text().replace("model.norm.weight", "model.other.weight"))
    with pytest.raises(ValueError, match="there is no model.norm.weight"):
        Llama.read(folder, "cpu")
    config = folder / "config.json"
    for kind in ("llama", "qwen2", "qwen3"):
        config.write_text(config.read_text().replace(f'"model_type": "{kind}"', '"model_type": "mamba"'))
    with pytest.raises(ValueError, match="of type mamba"):
        Llama.read(folder, "cpu")


def test_peer(folder):
    """What the times are compared with computes the same."""
    model = Llama.read(folder, "cpu")
    ids = torch.randint(300, (2, 66), generator=torch.Generator().manual_seed(1))
    exact, theirs = (of_transformers(folder, ids, dtype) for dtype in (torch.float32, torch.bfloat16))
    peer = Peer(model.config, model.weights, batch=2, longest=66)
    for at, logits in ((64, peer.prefill(ids[:, :65])), (65, peer.decode(ids[:, 65], 65))):
        error = (logits.double() - exact[:, at]).norm()
        assert error < 1.5 * (theirs[:, at] - exact[:, at]).norm()
