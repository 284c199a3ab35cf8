# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row of families.py is: the work, and what is asked of it."""
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

import torch


@dataclass
class Work:
    """What a row does. `run` launches tkc's kernel, which writes `outputs`; `wanted` gives them in f64. A peer is what prepares its call
    and returns it; the call returns the first of `outputs`, or nothing that can be compared."""

    run: Callable[[], object]
    outputs: List[torch.Tensor]
    wanted: Callable[[], List[torch.Tensor]]
    peers: Dict[str, Callable[[], Callable[[], List[torch.Tensor]]]]
    moved: int
    flops: float
    limit: float = 2e-2
    peer_limit: float = 5e-2
    error: Optional[Callable[[], float]] = None  # instead of the difference to `wanted`
    before: Callable[[], object] = lambda: None  # what the checked call needs again: a state, a sum
    compared: Callable[[List[torch.Tensor]], List[torch.Tensor]] = lambda results: results  # of a peer, untimed


@dataclass
class Row:
    name: str
    make: Callable[["Kit"], Work]
    share: float = 0.0           # asked, of the limit
    ratio: float = 0.0           # asked: the fastest peer's time over ours
    of: str = ""                 # the peer that the ratio is asked of, where it is not the fastest of all
    processes: int = 1           # that compile for it before it is timed
    seconds: int = 60
    note: str = ""


@dataclass
class Kit:
    """Where a row's tensors are, and whether its sizes are those of a dry run."""

    device: str
    small: bool
    modules: Dict[str, object] = field(default_factory=dict)

    def sizes(self, full, small):
        return small if self.small else full

    def normal(self, *dims, std=1.0, dtype=torch.bfloat16):
        return (torch.randn(*dims, device=self.device) * std).to(dtype)

    def uniform(self, *dims, low=0.0, high=1.0, dtype=torch.float32):
        return (torch.rand(*dims, device=self.device) * (high - low) + low).to(dtype)

    def empty(self, *dims, dtype=torch.bfloat16):
        return torch.empty(*dims, device=self.device, dtype=dtype)

    def integers(self, values):
        return torch.as_tensor(values, dtype=torch.int32, device=self.device)

    def kernel(self, file, name):
        import tkc

        if file not in self.modules:
            self.modules[file] = tkc.load(tkc.library / file)
        return self.modules[file][name]


def bytes_of(*tensors):
    return sum(x.numel() * x.element_size() for x in tensors)
