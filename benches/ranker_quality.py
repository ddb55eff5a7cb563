#!/usr/bin/env python3
"""Rankers learned from human grades: ours as they come, beside LightGBM and XGBoost, on real features and on the preset `small`.

    python benches/ranker_quality.py
    python benches/ranker_quality.py --splits 1-5 --sets ohsumed --ours "trees --leaves 16" --peers LightGBM

Prints the table of docs/trees.md. The queries of each set are divided at random (60 % to train, 20 % to choose the number of trees or steps, 20 % to
test), once for each number of `--splits`; of `small`, each number is the seed of another data set. Everyone learns from the same queries, is stopped by nDCG@5 of
the same validation queries, and is judged on the same test queries. The defaults were chosen on splits 1 to 5: report on others.

Uses the interpreter it is called with if that has lightgbm, numpy, pandas, pyarrow, scikit-learn and xgboost; otherwise it makes a virtual environment `.venv-quality`. The real sets are looked for where `--data` says; one
that is not there is skipped, and the output says so.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from environments import environment

ROOT = Path(__file__).resolve().parent.parent
MODULES = ["lightgbm", "numpy", "pandas", "pyarrow", "sklearn", "xgboost"]
SETS = {
    "ohsumed": ("OHSUMED", ["train.txt.gz", "vali.txt.gz", "test.txt.gz"], 2),
    "clueweb09-webis": ("ClueWeb09", [f"S{number}.txt.gz" for number in range(1, 6)], 4),
    "lightgbm-lambdarank": ("LightGBM's example", ["rank.train", "rank.test"], 4),
    "small": ("`small`", [], 4),
}
OURS = ["linear-raw", "linear", "mlp:32", "trees", "trees --loss lambdarank"]
BEST = "best of ours"
SHARES = (0.6, 0.2)
TREES, PATIENCE = 500, 100


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", default="11-15", help="numbers of the random divisions, such as 11-15 [default: 11-15]")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS), metavar="SET", help=f"of {', '.join(SETS)} [default: all]")
    parser.add_argument("--ours", nargs="*", default=OURS, metavar="OPTIONS", help="what follows `truerank train --model` [default: linear-raw, linear, mlp:32, trees, trees --loss lambdarank]")
    parser.add_argument("--peers", nargs="*", default=None, metavar="PEER", help="LightGBM, LightGBM-8 (8 leaves, rate .05), XGBoost [default: all]")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data", help="folder of the real sets [default: ../shared/data]")
    parser.add_argument("--truerank", type=Path, help="the binary [default: built here]")
    parser.add_argument("--threads", type=int, default=2, help="threads for everyone [default: 2]")
    parser.add_argument("--json", type=Path, help="keep nDCG@5 of every query here after each split; a run that was stopped goes on")
    return parser.parse_args()


def enter_environment():
    if all(importlib.util.find_spec(module) for module in MODULES):
        return
    python = environment(".venv-quality", "requirements-quality.txt")
    os.execv(python, [str(python), *sys.argv])


@dataclass
class Part:
    features: "numpy.ndarray"
    grades: "numpy.ndarray"
    queries: "numpy.ndarray"

    def sizes(self):
        starts = np.flatnonzero(np.r_[True, self.queries[1:] != self.queries[:-1]])
        return np.diff(starts, append=len(self.queries))

    def of(self, chosen):
        """The rows of some queries."""
        rows = np.isin(self.queries, chosen)
        return Part(self.features[rows], self.grades[rows], self.queries[rows])

    def write(self, path):
        with open(path, "w") as file:
            for grade, query, row in zip(self.grades, self.queries, self.features):
                cells = " ".join(f"{place + 1}:{row[place]!s}" for place in np.flatnonzero(row))
                file.write(f"{int(grade)} qid:{query} {cells}\n")


def read(paths):
    """Files as one part; queries are numbered in their order."""
    from sklearn.datasets import load_svmlight_file

    parts, first = [], 0
    width = None
    for path in paths:
        matrix, grades, queries = load_svmlight_file(str(path), query_id=True, zero_based=False, n_features=width)
        width = width or matrix.shape[1]
        side = Path(f"{path}.query")
        sizes = np.loadtxt(side, dtype=int) if side.exists() else None
        starts = np.r_[True, queries[1:] != queries[:-1]] if sizes is None else None
        numbers = np.repeat(np.arange(len(sizes)), sizes) if starts is None else np.cumsum(starts) - 1
        parts.append(Part(matrix.toarray().astype(np.float32), grades, numbers + first))
        first += numbers[-1] + 1
    return Part(*(np.concatenate([getattr(part, name) for part in parts]) for name in ["features", "grades", "queries"]))


def divide(whole, number):
    """Training, validation and test part."""
    queries = np.unique(whole.queries)
    order = np.random.default_rng(number).permutation(queries)
    ends = np.round(np.cumsum(SHARES) * len(queries)).astype(int)
    return [whole.of(chosen) for chosen in np.split(order, ends)]


def ndcg(part, scores, depth=5):
    """nDCG@5 of each query, gain 2^grade − 1; 0 for queries without relevant documents; ties in the order of the file."""
    values, start = [], 0
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    for size in part.sizes():
        gains = np.exp2(part.grades[start : start + size]) - 1
        order = np.argsort(-scores[start : start + size], kind="stable")[:depth]
        best = np.sort(gains)[::-1][:depth]
        values.append(gains[order] @ discounts[: len(order)] / (best @ discounts[: len(best)]) if best[0] > 0 else 0.0)
        start += size
    return np.array(values)


class Bench:
    def __init__(self, arguments, folder):
        self.binary, self.folder, self.threads = arguments.truerank.resolve(), folder, arguments.threads

    def truerank(self, *words):
        command = [str(self.binary), *map(str, words), "--quiet", "--threads", str(self.threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(command)}: {done.stderr}")
        return done.stdout

    def ours(self, model, data, max_grade, parts):
        """Validation value and test scores of one of our kinds."""
        ranker, run = self.folder / "ranker.safetensors", self.folder / "run.parquet"
        width = parts[0].features.shape[1]
        shape = ["--max-grade", max_grade, "--feature-count", width]
        record = json.loads(self.truerank("train", data, "--model", *model.split(), *shape, "--json", "-o", ranker))
        scores = []
        for part, name in zip(parts[1:], ["vali", "test"]):
            self.truerank("score", data / f"{name}.txt", "--ranker", ranker, *shape, "-o", run)
            scores.append(self.scores(run, part))
        return scores, record

    def scores(self, run, part):
        """Scores in the order of the file: documents without names are numbered within their query."""
        import pyarrow.parquet as pq

        table = pq.read_table(run).to_pandas()
        starts = dict(zip(np.unique(part.queries), np.r_[0, np.cumsum(part_sizes(part))[:-1]]))
        rows = [starts[int(query)] + int(doc) - 1 for query, doc in zip(table["query"], table["doc"])]
        scores = np.empty(len(part.grades), np.float32)
        scores[rows] = table["score"].to_numpy()
        return scores

    def lightgbm(self, parts, leaves=31, rate=0.1):
        import lightgbm

        train, validation, test = parts
        parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "num_leaves": leaves, "learning_rate": rate}
        parameters |= {"verbosity": -1, "num_threads": self.threads, "deterministic": True, "seed": 1}
        data = lightgbm.Dataset(train.features, train.grades, group=train.sizes(), params=parameters)
        held_out = data.create_valid(validation.features, validation.grades, group=validation.sizes())
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        model = lightgbm.train(parameters, data, TREES, valid_sets=[held_out], callbacks=[stop])
        return [model.predict(part.features) for part in (validation, test)]

    def xgboost(self, parts):
        import xgboost

        matrices = [xgboost.DMatrix(part.features, part.grades, group=part.sizes()) for part in parts]
        parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "eta": 0.1, "nthread": self.threads, "seed": 1}
        model = xgboost.train(
            parameters, matrices[0], TREES, evals=[(matrices[1], "validation")], early_stopping_rounds=PATIENCE, verbose_eval=False
        )
        best = (0, model.best_iteration + 1)
        return [model.predict(matrix, iteration_range=best) for matrix in matrices[1:]]

    def peers(self):
        return {
            "LightGBM": self.lightgbm,
            "LightGBM-8": lambda parts: self.lightgbm(parts, 8, 0.05),
            "XGBoost": self.xgboost,
        }


def part_sizes(part):
    return np.unique(part.queries, return_counts=True)[1]


def parts_of(bench, name, number, arguments):
    """The three parts of a split, and the folder that holds them as text."""
    _, files, _ = SETS[name]
    folder = bench.folder / f"{name}-{number}"
    if name == "small":
        bench.truerank("generate", "--preset", "small", "--seed", number, "-o", folder)
        return [read([folder / f"{part}.txt"]) for part in ["train", "vali", "test"]], folder
    parts = divide(read([arguments.data / name / file for file in files]), number)
    folder.mkdir()
    for part, file in zip(parts, ["train", "vali", "test"]):
        part.write(folder / f"{file}.txt")
    return parts, folder


def run_split(bench, name, number, arguments):
    """nDCG@5 of each test query by everyone, and which queries these are."""
    (train, validation, test), folder = parts_of(bench, name, number, arguments)
    if name == "small":
        renumber(folder, [train, validation, test])
    values, best = {}, None
    for model in arguments.ours:
        (by_validation, by_test), _ = bench.ours(model, folder, SETS[name][2], [train, validation, test])
        values[model] = ndcg(test, by_test)
        chosen = ndcg(validation, by_validation).mean()
        if best is None or chosen > best[0]:
            best = (chosen, model)
    if len(arguments.ours) > 1:
        values[BEST] = values[best[1]]
    peers = bench.peers()
    for peer in arguments.peers if arguments.peers is not None else peers:
        values[peer] = ndcg(test, peers[peer]([train, validation, test])[1])
    queries = [f"{number}:{query}" if name == "small" else str(query) for query in np.unique(test.queries)]
    print(f"{name} {number}: " + ", ".join(f"{who} {found.mean():.4f}" for who, found in values.items()), file=sys.stderr, flush=True)
    return values, queries, best[1] if best else None


def renumber(folder, parts):
    """The queries of generated text as they are numbered here."""
    for part, file in zip(parts, ["train", "vali", "test"]):
        part.queries = part.queries + {"train": 0, "vali": 1_000_000, "test": 2_000_000}[file]
        part.write(folder / f"{file}.txt")


def difference(ours, theirs, queries):
    """The mean difference over queries and splits, and its standard error with the splits of a query taken together."""
    differences = ours - theirs
    mean, sums = differences.mean(), {}
    for query, value in zip(queries, differences):
        sums[query] = sums.get(query, 0.0) + value - mean
    return mean, np.sqrt(sum(value**2 for value in sums.values())) / len(differences)


def print_table(results, who):
    anchor = "LightGBM"
    print(f"| | {' | '.join(SETS[name][0] for name in results)} |")
    print("|---" * (len(results) + 1) + "|")
    for one in who:
        cells = []
        for values, queries, _ in results.values():
            cell = f"{values[one].mean():.4f}"
            if anchor in values and one != anchor:
                mean, error = difference(values[one], values[anchor], queries)
                cell += f" ({mean:+.4f} ± {error:.4f})"
            cells.append(cell)
        print(f"| {one} | {' | '.join(cells)} |")
    print("\nIn brackets: the difference to LightGBM ± its standard error, paired over queries and splits.")
    for name, (_, queries, chosen) in results.items():
        print(f"{SETS[name][0]}: {len(queries)} test queries in all, {len(set(queries))} different ones; best by validation: {', '.join(chosen)}.")


class Kept:
    """What splits gave, in a file if there is one. A split counts only for the same options."""

    def __init__(self, path):
        self.path, self.splits = path, {}
        if path and path.exists():
            self.splits = json.loads(path.read_text())

    def split(self, name, number, arguments):
        key = " ".join([name, str(number), *map(repr, [*arguments.ours, "peers", *(arguments.peers if arguments.peers is not None else ["all"])])])
        if key not in self.splits:
            with tempfile.TemporaryDirectory(prefix="truerank-quality-") as folder:
                values, queries, chosen = run_split(Bench(arguments, Path(folder)), name, number, arguments)
            self.splits[key] = [{who: found.tolist() for who, found in values.items()}, queries, chosen]
            if self.path:
                self.path.write_text(json.dumps(self.splits))
        values, queries, chosen = self.splits[key]
        return {who: np.array(found) for who, found in values.items()}, queries, chosen


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    arguments = parse_arguments()
    enter_environment()
    global np
    import numpy as np

    if arguments.truerank is None:
        subprocess.run(["cargo", "build", "--release", "--locked", "--bin", "truerank"], cwd=ROOT, check=True)
        arguments.truerank = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/truerank"
    results, kept = {}, Kept(arguments.json)
    for name in arguments.sets:
        if name != "small" and not (arguments.data / name).is_dir():
            print(f"skipped: there is no {arguments.data / name}", file=sys.stderr)
            continue
        found = [kept.split(name, number, arguments) for number in numbers(arguments.splits)]
        values = {who: np.concatenate([split[0][who] for split in found]) for who in found[0][0]}
        results[name] = (values, [query for split in found for query in split[1]], [str(split[2]) for split in found])
    who = list(next(iter(results.values()))[0])
    print_table(results, who)


if __name__ == "__main__":
    main()
