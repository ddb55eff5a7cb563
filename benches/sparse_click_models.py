#!/usr/bin/env python3
"""How near `truerank click-model` comes to the truth on sparse, Zipf and dense logs, and to held-out clicks of small real ones.

    python benches/sparse_click_models.py TRUERANK… --seeds 5
    python benches/sparse_click_models.py TRUERANK… --real FOLDER

Several binaries are compared on the same logs. Needs NumPy and pyarrow. Simulated truth: an engine whose scores go with relevance and
change a little from session to session shows 8 of 10 documents; γ = .04 + .6·quality². `--real` names a folder with `train.jsonl.gz` and
`test.jsonl.gz` (a page per line); models are fitted to shares of the training pages and judged on all test pages.
"""

import argparse
import gzip
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DOCS, POSITIONS = 10, 8
MODELS = ["pbm", "ubm", "dcm", "dbn"]
GO_ON = [0.7, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.0]  # dcm: λ after a click at each position
LAMBDA = 0.8  # dbn


def sessions_of(kind, random):
    """How many sessions each query has."""
    if kind == "dense":
        return np.full(300, 60)
    if kind == "zipf":
        shares = 1 / np.arange(1, 8001)
        drawn = random.multinomial(30_000, shares / shares.sum())
        return drawn[drawn > 0]
    popular = 0.02 * 8000 / np.arange(1, 8001)
    return random.integers(1, 4, 8000) + popular.astype(int)


def clicks_of(model, gamma, sigma, random):
    """One session, from the top."""
    clicks, last, reading = np.zeros(len(gamma), bool), 0, True
    for at, attraction in enumerate(gamma):
        if model in ("pbm", "ubm"):
            theta = 1 / (at + 1 - (last if model == "ubm" else 0))
            clicks[at] = random.random() < theta * attraction
        elif reading:
            clicks[at] = random.random() < attraction
            if model == "dcm":
                reading = not clicks[at] or random.random() < GO_ON[at]
            else:
                satisfied = clicks[at] and random.random() < sigma[at]
                reading = not satisfied and random.random() < LAMBDA
        if clicks[at]:
            last = at + 1
    return clicks


def write_log(path, kind, model, seed):
    random = np.random.default_rng([seed, MODELS.index(model), ["sparse", "zipf", "dense"].index(kind)])
    columns = {name: [] for name in ("query", "session", "doc", "position", "click")}
    session = 0
    for query, sessions in enumerate(sessions_of(kind, random)):
        quality, sigma = random.random(DOCS), random.uniform(0.1, 0.7, DOCS)
        scores = quality + 0.35 * random.standard_normal(DOCS)
        for _ in range(sessions):
            order = np.argsort(-(scores + 0.2 * random.standard_normal(DOCS)))[:POSITIONS]
            clicks = clicks_of(model, 0.04 + 0.6 * quality[order] ** 2, sigma[order], random)
            columns["query"] += [query] * POSITIONS
            columns["session"] += [session] * POSITIONS
            columns["doc"] += list(order)
            columns["position"] += range(1, POSITIONS + 1)
            columns["click"] += list(clicks.astype(int))
            session += 1
    pq.write_table(pa.table(columns), path)


def truth(model):
    """Parameters that enough clicks tell of, by name."""
    if model == "pbm":
        return {f"θ({k})": 1 / k for k in range(2, 7)}
    if model == "ubm":
        return {f"θ({above},{k})": 1 / (k - above) for above, k in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3)]}
    if model == "dcm":
        return {f"λ({k})": GO_ON[k - 1] for k in range(1, 5)}
    return {"λ": LAMBDA}


def found(model, values):
    """The same of a fitted model, relative to what the first position has."""
    if model == "pbm":
        return [values[k - 1] / values[0] for k in range(2, 7)]
    if model == "ubm":
        slot = lambda above, k: values[k * (k - 1) // 2 + above] / values[0]  # noqa: E731
        return [slot(*pair) for pair in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3)]]
    return values[:4] if model == "dcm" else values[:1]


def run(binary, *arguments):
    return subprocess.run([binary, "-q", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def parameters(fitted):
    return json.loads(Path(fitted).read_text())["kinds"][0]["parameters"]


def simulated(binaries, seeds):
    print("| log | model | binary | found over truth: mean over seeds, ± its standard error | root mean square error |")
    print("|---|---|---|---|---|")
    for kind in ["sparse", "zipf", "dense"]:
        for model in MODELS:
            of_binaries = {binary: [] for binary in binaries}
            for seed in range(1, seeds + 1):
                with tempfile.TemporaryDirectory() as folder:
                    log, counts, fitted = (Path(folder) / name for name in ("log.parquet", "counts", "model.json"))
                    write_log(log, kind, model, seed)
                    run(binaries[0], "count", log, "--transitions", "-o", counts)
                    for binary in binaries:
                        run(binary, "click-model", counts, "--model", model, "-o", fitted)
                        of_binaries[binary].append(found(model, parameters(fitted)))
            for number, (binary, values) in enumerate(of_binaries.items(), 1):
                ratios = np.array(values) / np.array(list(truth(model).values()))
                error = ratios.std(0, ddof=1) / np.sqrt(seeds)
                cells = [f"{name} {mean:.3f} ± {e:.3f}" for name, mean, e in zip(truth(model), ratios.mean(0), error)]
                square = np.sqrt(((ratios - 1) ** 2).mean())
                print(f"| {kind} | {model} | {number} | {', '.join(cells)} | {square:.3f} |", flush=True)


def real(binaries, folder, seeds):
    print("| share of sessions | model | binary | held-out log-likelihood, ± over samples |")
    print("|---|---|---|---|")
    lines = gzip.open(folder / "train.jsonl.gz", "rt").read().splitlines()
    for share in [1 / 160, 1 / 40, 1 / 10, 1.0]:
        samples = seeds if share < 1 else 1
        scores = {}
        for seed in range(samples):
            random = np.random.default_rng(seed)
            kept = [line for line in lines if random.random() < share]
            with tempfile.TemporaryDirectory() as made:
                made = Path(made)
                (made / "train.jsonl").write_text("\n".join(kept) + "\n")
                run(binaries[0], "count", made / "train.jsonl", "--transitions", "-o", made / "train")
                run(binaries[0], "count", folder / "test.jsonl.gz", "--transitions", "-o", made / "test")
                for model in ["pbm", "ubm", "dcm", "sdbn", "dbn", "ccm"]:
                    for number, binary in enumerate(binaries, 1):
                        run(binary, "click-model", made / "train", "--model", model, "-o", made / "model.json")
                        told = run(binary, "predict-clicks", made / "test", "--click-model", made / "model.json", "--json")
                        scores.setdefault((model, number), []).append(json.loads(told)["log_likelihood"])
        for (model, number), values in scores.items():
            error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            print(f"| {share:.4f} | {model} | {number} | {np.mean(values):.5f} ± {error:.5f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--real", type=Path)
    arguments = parser.parse_args()
    if arguments.real:
        real(arguments.binaries, arguments.real, arguments.seeds)
    else:
        simulated(arguments.binaries, arguments.seeds)


if __name__ == "__main__":
    main()
