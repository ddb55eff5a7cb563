#!/usr/bin/env python3
"""Fits a click model of CLAX and writes its held-out log-likelihood and seconds after each epoch, as JSON.

    python clax_model.py FOLDER --model pbm --learning-rate 0.01 --epochs 50 --threads 2 --loader memory -o curve.json

FOLDER holds `train.npz` and `held-out.npz`, each with `pairs` (sessions × positions: numbers of query and document) and
`clicks`. Of `pbm`, examination and attraction in the last state go beside the curve, as `.npz`.
"""

import argparse
import json
import os
import time
from pathlib import Path

# As in the configuration of CLAX's own experiments.
TRAIN_BATCH, HELD_OUT_BATCH = 4096, 8192
SEED = 42
# CLAX stops after the first epoch that is not better; more patience can only help it here.
PATIENCE = 3
MODELS = ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=MODELS, default="pbm")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--epochs", type=int, required=True, help="at most")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--loader", choices=["memory", "own"], required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


ARGUMENTS = parse_arguments()
# Before JAX is imported: it takes as many threads as it finds cores.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: ARGUMENTS.threads])
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from clax import (  # noqa: E402
    CascadeModel,
    ClickChainModel,
    DependentClickModel,
    DynamicBayesianNetwork,
    PositionBasedModel,
    Trainer,
    UserBrowsingModel,
)
from clax.datasets import YandexDataset  # noqa: E402
from flax import nnx  # noqa: E402
from flax.training.early_stopping import EarlyStopping  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402


def batches_in_memory(part, size):
    """All batches as arrays: while it trains, nothing is left to read or to put together."""
    positions = np.arange(1, part["pairs"].shape[1] + 1, dtype=np.int16)

    def batch(start):
        pairs = part["pairs"][start : start + size].astype(np.int32)
        return {
            "query_doc_ids": pairs,
            "positions": np.broadcast_to(positions, pairs.shape),
            "mask": np.ones(pairs.shape, bool),
            "clicks": part["clicks"][start : start + size].astype(np.float16),
        }

    return [batch(start) for start in range(0, len(part["pairs"]), size)]


def own_loader(part, size, folder):
    """CLAX's data set on a Parquet file of sessions, under PyTorch's loader as in its examples."""
    folder.mkdir(exist_ok=True)
    columns = {"query_id": np.zeros(len(part["pairs"]), np.int64)}
    columns |= {"query_doc_ids": list(part["pairs"]), "clicks": list(part["clicks"])}
    pq.write_table(pa.table(columns), folder / "part-0.parquet")
    data = YandexDataset(folder, (0, len(part["pairs"])), max_positions=part["pairs"].shape[1])
    workers = {"num_workers": ARGUMENTS.threads, "persistent_workers": True}
    return DataLoader(data, batch_size=size, collate_fn=data.collate_fn, **workers)


def loader(part, size, name):
    if ARGUMENTS.loader == "memory":
        return batches_in_memory(part, size)
    return own_loader(part, size, ARGUMENTS.folder / f"sessions-{name}")


class Timed:
    """A loader that notes how long each pass took, until all that was made of its batches is there."""

    def __init__(self, batches, model):
        self.batches, self.model, self.passes = batches, model, []

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        start = time.perf_counter()
        yield from self.batches
        jax.block_until_ready(nnx.state(self.model))
        self.passes.append(time.perf_counter() - start)


def compile_steps(trainer, model, train, held_out):
    """Seconds for one epoch of the first and the last batches, which have all shapes there are."""
    shapes = [
        [batches[0], batches[-1]]
        for batches in (batches_in_memory(train, TRAIN_BATCH), batches_in_memory(held_out, HELD_OUT_BATCH))
    ]
    start, epochs = time.perf_counter(), trainer.epochs
    trainer.epochs = 1
    trainer.train(model, *shapes)
    trainer.epochs = epochs
    return time.perf_counter() - start


def make_model(name, length, pairs):
    sizes, by_position = {"query_doc_pairs": pairs, "rngs": nnx.Rngs(SEED)}, {"positions": length}
    models = {
        "pbm": lambda: PositionBasedModel(**sizes, **by_position),
        "ubm": lambda: UserBrowsingModel(**sizes, **by_position),
        "cm": lambda: CascadeModel(**sizes),
        "dcm": lambda: DependentClickModel(**sizes, **by_position),
        "sdbn": lambda: DynamicBayesianNetwork(**sizes, fix_continuation=True),
        "dbn": lambda: DynamicBayesianNetwork(**sizes),
        "ccm": lambda: ClickChainModel(**sizes),
    }
    return models[name]()


def main():
    train, held_out = (dict(np.load(ARGUMENTS.folder / f"{name}.npz")) for name in ["train", "held-out"])
    pairs, length = 1 + int(max(train["pairs"].max(), held_out["pairs"].max())), train["pairs"].shape[1]

    def new_model():
        return make_model(ARGUMENTS.model, length, pairs)

    stopping = EarlyStopping(patience=PATIENCE, min_delta=0)
    trainer = Trainer(optax.adamw(ARGUMENTS.learning_rate), epochs=ARGUMENTS.epochs, early_stopping=stopping)
    compiling = compile_steps(trainer, new_model(), train, held_out)
    model = new_model()
    train_loader = Timed(loader(train, TRAIN_BATCH, "train"), model)
    held_out_loader = Timed(loader(held_out, HELD_OUT_BATCH, "held-out"), model)
    table = trainer.train(model, train_loader, held_out_loader)
    final = trainer.test_clicks(model, batches_in_memory(held_out, HELD_OUT_BATCH))
    curve = {
        "compiling": compiling,
        "training": train_loader.passes,
        "predicting": held_out_loader.passes,
        "held_out": [float(value) for value in table["val_ll"]],
        "final": float(final["test_ll"].iloc[0]),
    }
    ARGUMENTS.output.write_text(json.dumps(curve))
    if ARGUMENTS.model != "pbm":
        return
    ids = {"positions": np.arange(1, length + 1), "query_doc_ids": np.arange(pairs)}
    probabilities = {"examination": model.examination.prob(ids), "attraction": model.attraction.prob(ids)}
    np.savez(ARGUMENTS.output.with_suffix(".npz"), **{name: np.asarray(v) for name, v in probabilities.items()})


if __name__ == "__main__":
    main()
