"""PyTorch, eager, on the CPU with its fused Adam: with a thread per core, its default, and with
one thread, which suits small steps and a machine that is shared."""

import os
from typing import Any

import torch
from tools.benchmarks import problem
from tools.benchmarks.problem import Contender, Size


def make_model(size: Size) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    *hidden, output = map(torch.from_numpy, problem.weights(size))
    for w in hidden:
        norm = torch.nn.BatchNorm1d(size.width, problem.EPS, momentum=1 - problem.DECAY_RATE)
        layers += [torch.nn.Linear(*w.shape, bias=False), norm, torch.nn.ReLU()]
    layers.append(torch.nn.Linear(*output.shape))
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for layer, w in zip(linear, [*hidden, output], strict=True):
            layer.weight.copy_(w.T)
        linear[-1].bias.zero_()
    return torch.nn.Sequential(*layers)


def fresh(size: Size) -> tuple[torch.nn.Sequential, torch.optim.Optimizer]:
    model = make_model(size)
    adam = torch.optim.Adam(
        model.parameters(),
        problem.LEARNING_RATE,
        betas=(problem.BETA_1, problem.BETA_2),
        eps=problem.ADAM_EPS,
        fused=True,
    )
    return model, adam


def step(carry: Any, batch: Any) -> tuple[Any, torch.Tensor]:
    model, optimizer = carry
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch["inputs"]), batch["targets"])
    loss.backward()
    optimizer.step()
    return carry, loss


def setup(size: Size, threads: int | None = None) -> Contender:
    torch.set_num_threads(threads or os.cpu_count() or 1)
    batches = [
        {
            "inputs": torch.from_numpy(batch["inputs"]),
            "targets": torch.from_numpy(batch["targets"]).long(),
        }
        for batch in problem.batches(size)
    ]
    return Contender(lambda: fresh(size), step, batches, lambda result: None)


def setup_one_thread(size: Size) -> Contender:
    return setup(size, threads=1)
