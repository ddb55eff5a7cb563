"""One step of training an MLP: ours beside PyTorch, and beside the matrix products alone."""

import re
import statistics

import torch

from . import networks
from .common import Row, seconds

LIST = 10


def torch_step(rows, features, hidden):
    """A function that makes one step: forward, loss, backward, clipping, AdaGrad."""
    torch.manual_seed(1)
    model = networks.network(features, hidden)
    adagrad = networks.optimizer(model)
    data = torch.rand(rows, features)
    weights = (torch.arange(rows) % 3).float().view(-1, LIST)
    return lambda: networks.step(model, adagrad, model(data).view(-1, LIST), weights)


def products(rows, features, hidden):
    """A function that multiplies the matrices of one step: forward, by weights, and by inputs but for the first layer."""
    sizes = [features, *hidden, 1]
    inputs = [torch.rand(rows, size) for size in sizes]
    weights = [torch.rand(outputs, size) for size, outputs in zip(sizes, sizes[1:])]

    def multiply():
        for layer, weight in enumerate(weights):
            inputs[layer] @ weight.T
        for layer, weight in enumerate(weights):
            inputs[layer + 1].T @ inputs[layer]
            if layer > 0:
                inputs[layer + 1] @ weight

    return multiply


def median_of(work, times):
    work()
    return statistics.median(seconds(work) for _ in range(times))


def rows(setup):
    torch.set_num_threads(setup.threads)
    count, features = setup.pick(2560, 320), setup.pick(700, 50)
    hidden = setup.pick([512, 256, 128], [32, 16, 8])
    times = setup.pick(40, 5)
    options = {"rows": count, "features": features, "threads": setup.threads, "steps": times}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]

    def time_ours():
        text = setup.example("mlp_step", *words, "--hidden", ",".join(map(str, hidden)))
        return float(re.search(r"([\d.]+) ms median", text)[1]) / 1000

    step, multiply = torch_step(count, features, hidden), products(count, features, hidden)
    shape = f"{count // LIST} queries × {LIST} documents × {features} features, hidden {'-'.join(map(str, hidden))}"
    work = f"MLP step, {shape}"
    return [
        Row(work, "PyTorch", "≥ 1", time_ours, lambda: median_of(step, times)),
        Row(work, "its matrix products alone, PyTorch", "≥ 0.77", time_ours, lambda: median_of(multiply, times)),
    ]
