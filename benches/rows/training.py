"""Training to a given validation nDCG@5: ours beside a PyTorch loop on the same data."""

import re
import time

import torch

from . import networks
from .common import AtLeast, Row
from .tables import read_part

BATCH = 256
CHECK_EVERY = 10


class Part:
    """One part of a data set as tensors; queries are consecutive rows. It learns from grades unless weights are given."""

    def __init__(self, features, grades, sizes, weights=None):
        self.features, self.grades, self.sizes = features, grades, sizes
        self.starts = torch.cumsum(sizes, 0) - sizes
        self.weights = grades / 4 if weights is None else weights

    @classmethod
    def read(cls, path):
        return cls(*map(torch.tensor, read_part(path)))

    def select(self, queries):
        """The rows of some queries, and where each goes in a table with one list per line."""
        sizes = self.sizes[queries]
        lines = torch.repeat_interleave(torch.arange(len(queries)), sizes)
        ends = torch.cumsum(sizes, 0)
        columns = torch.arange(int(ends[-1])) - (ends - sizes)[lines]
        return self.starts[queries][lines] + columns, (lines, columns), (len(queries), int(sizes.max()))


def lay_out(values, places, shape, fill):
    return torch.full(shape, fill).index_put(places, values)


def ndcg_at_5(part, scores):
    """The mean over queries, 0 where nothing is relevant."""
    _, places, shape = part.select(torch.arange(len(part.sizes)))
    gains = lay_out(torch.exp2(part.grades) - 1, places, shape, 0.0)
    order = lay_out(scores, places, shape, -torch.inf).topk(min(5, shape[1]), dim=1).indices
    discounts = 1 / torch.log2(torch.arange(2, 2 + order.shape[1]))
    found = (gains.gather(1, order) * discounts).sum(1)
    best = (gains.topk(order.shape[1], dim=1).values * discounts).sum(1)
    return torch.where(best > 0, found / best, 0.0).mean().item()


def checks(train_part, validation, hidden, most_steps):
    """Trains by AdaGrad on batches; every ten steps the network and its validation value."""
    torch.manual_seed(1)
    model = networks.network(train_part.features.shape[1], hidden)
    adagrad = networks.optimizer(model)
    steps = 0
    while steps < most_steps:
        for queries in torch.randperm(len(train_part.sizes)).split(BATCH):
            rows, places, shape = train_part.select(queries)
            scores = lay_out(model(train_part.features[rows]).squeeze(1), places, shape, -torch.inf)
            weights = lay_out(train_part.weights[rows], places, shape, 0.0)
            networks.step(model, adagrad, scores, weights)
            steps += 1
            if steps % CHECK_EVERY == 0:
                with torch.no_grad():
                    value = ndcg_at_5(validation, model(validation.features).squeeze(1))
                yield model, value


def train(train_part, validation, hidden, target, most_steps):
    """Seconds until the validation value reaches the target, or until the last step."""
    start = time.perf_counter()
    for _, value in checks(train_part, validation, hidden, most_steps):
        if value >= target:
            return time.perf_counter() - start
    return AtLeast(time.perf_counter() - start)


def rows(setup):
    torch.set_num_threads(setup.threads)
    folder = setup.folder / "training"
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "--format", "parquet", "-o", folder)
    train_part, validation = (Part.read(folder / f"{name}.parquet") for name in ["train", "vali"])
    models = [("linear", 5000), (setup.pick("mlp:512,256,128", "mlp:32,16"), 1000)]
    return [row(setup, model, setup.pick(steps, 100), folder, train_part, validation) for model, steps in models]


def row(setup, model, most_steps, folder, train_part, validation):
    hidden = [int(size) for size in re.findall(r"\d+", model)]
    options = [folder, "--model", model, *(["--steps", 50] if setup.quick else [])]
    text = setup.example("train_ranker", *options)
    target = float(re.search(r"target ([\d.]+)", text)[1])
    reached = re.search(r"step (\d+)", text)[1]
    return Row(
        f"train {model} to a validation nDCG@5 of {target:.4f} (our best − .002)",
        f"PyTorch, AdaGrad on batches (at most {most_steps:,} steps)",
        "≥ 2",
        lambda: setup.example_seconds("train_ranker", *options, "--reached", reached),
        lambda: train(train_part, validation, hidden, target, most_steps),
    )
