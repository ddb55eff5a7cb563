"""LightGBM on labels that `truerank export` writes: corrected, raw clicks, and human grades, on the demo's data.

    python benches/lightgbm_labels.py
    python benches/lightgbm_labels.py --table reliability --sessions 30000 --work target/lightgbm-sparse

Prints the tables of docs/lightgbm.md: which labels, and how much each should count. Needs lightgbm, numpy, pandas, pyarrow, scikit-learn and scipy.
"""

import argparse
import json
import subprocess
from pathlib import Path

import lightgbm
import numpy as np
import pandas
import scipy.stats
from sklearn.datasets import load_svmlight_file

PARAMETERS = {
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "verbosity": -1,
    "deterministic": True,
}
TREES, PATIENCE = 500, 40
ESTIMATORS = ["naive", "ips-pbm", "user-aware", "user-aware-smoothed"]


def ndcg(scores, grades, sizes, depth=5):
    """nDCG@5 of each query, gain 2^y − 1; ties in the order of the file; 0 for queries without relevant documents."""
    values, start = [], 0
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    for size in sizes:
        gains = np.exp2(grades[start : start + size]) - 1
        order = np.argsort(-scores[start : start + size], kind="stable")
        top, best = gains[order][:depth], np.sort(gains)[::-1][:depth]
        values.append((top @ discounts[: len(top)]) / (best @ discounts[: len(best)]) if best[0] > 0 else 0)
        start += size
    return np.array(values)


class Part:
    """One file of labels with its side files."""

    def __init__(self, path):
        self.labels, self.features = read(path)
        self.sizes = np.loadtxt(f"{path}.query", dtype=int)
        weights = Path(f"{path}.weight")
        self.weights = np.loadtxt(weights) if weights.exists() else None


def read(path):
    features, labels = load_svmlight_file(str(path), zero_based=False)
    return labels, features.toarray()


def train(part, labels, weights, objective, validation, seed):
    parameters = PARAMETERS | objective | {"metric": "none", "seed": seed}
    training = lightgbm.Dataset(part.features, labels, group=part.sizes, weight=weights, params=parameters)
    held_out = training.create_valid(validation.features, validation.labels, group=validation.sizes)

    def measure(scores, _):
        return "ndcg@5", ndcg(scores, validation.labels, validation.sizes).mean(), True

    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    return lightgbm.train(parameters, training, TREES, valid_sets=[held_out], feval=measure, callbacks=[stop])


class Bench:
    def __init__(self, arguments):
        self.binary, self.work = arguments.truerank, Path(arguments.work)
        self.sessions, self.seeds = arguments.sessions, range(1, arguments.seeds + 1)
        self.work.mkdir(parents=True, exist_ok=True)

    def truerank(self, *words):
        subprocess.run([self.binary, "--quiet", *map(str, words)], check=True, cwd=self.work, stdout=subprocess.DEVNULL)

    def prepare(self):
        """Data, and for each seed a log, weights by true and by estimated examination, and labels."""
        if not (self.work / "data").exists():
            self.truerank("generate", "--preset", "small", "-o", "data")
        for seed in self.seeds:
            if (self.work / f"{seed}").exists():
                continue
            (self.work / f"{seed}").mkdir()
            log = f"{seed}/clicks.parquet"
            self.truerank("simulate", "data", "--sessions", self.sessions, "--seed", seed, "-o", log)
            self.truerank("count", log, "-o", f"{seed}/counts")
            self.truerank("propensity", f"{seed}/counts", "--data", "data", "--per-user", "-o", f"{seed}/estimated.json")
            for source, file in [("true", f"{seed}/clicks.propensities.json"), ("estimated", f"{seed}/estimated.json")]:
                for estimator in ESTIMATORS:
                    self.export(seed, source, file, estimator)

    def export(self, seed, source, propensities, estimator):
        name = f"{seed}/{source}-{estimator}"
        chosen = ["--propensities", propensities, "--estimator", estimator]
        self.truerank("relevance", f"{seed}/counts", *chosen, "-o", f"{name}.parquet")
        self.truerank("export", f"{name}.parquet", "--to", "lightgbm", "--data", "data", "-o", f"{name}-weights")
        steps = ["--labels", "steps", "-o", f"{name}-steps"]
        self.truerank("export", f"{name}.parquet", "--to", "lightgbm", "--data", "data", *steps)

    def folder(self, seed, source, estimator, form="weights"):
        return self.work / f"{seed}/{source}-{estimator}-{form}"

    def run(self, table):
        """Per-query nDCG@5 on the test part, averaged over seeds, by row of the table."""
        first = self.folder(1, "true", "naive")
        self.validation, self.test = Part(first / "vali.svm"), Part(first / "test.svm")
        self.shown = self.grades_of_shown()
        rows = {}
        for seed in self.seeds:
            for name, part, labels, weights, objective in getattr(self, table)(seed):
                model = train(part, labels, weights, objective, self.validation, seed)
                values = ndcg(model.predict(self.test.features), self.test.labels, self.test.sizes)
                rows.setdefault(name, []).append(values)
                print(f"# seed {seed}: {name}: {values.mean():.4f} ({model.best_iteration} trees)", flush=True)
        return {name: np.mean(values, axis=0) for name, values in rows.items()}

    def grades_of_shown(self):
        """The human grade of each training document, by query and number."""
        grades, queries = load_svmlight_file(str(self.work / "data/train.txt"), query_id=True, zero_based=False)[1:]
        table = pandas.DataFrame({"query": queries, "grade": grades})
        table["doc"] = table.groupby("query").cumcount() + 1
        return table

    def reliability(self, seed):
        """Weights by E / (E + b), where E is how often a document was examined."""
        for estimator in ["naive", "user-aware-smoothed"]:
            part = Part(self.folder(seed, "true", estimator) / "train.svm")
            exposure = 5 * part.weights / (1 - part.weights)
            for name, weights in [("all alike", None)] + [(f"b = {b}", exposure / (exposure + b)) for b in (1, 5, 20)]:
                yield f"{estimator}, {name}", part, part.labels, weights, {"objective": "regression"}

    def labels(self, seed):
        regression, ranking = {"objective": "regression"}, {"objective": "lambdarank"}
        clicks = Part(self.folder(seed, "true", "naive") / "train.svm")
        table = pandas.read_parquet(self.work / f"{seed}/true-naive.parquet")
        table = self.shown.merge(table, on=["query", "doc"])
        yield "grades, lambdarank", clicks, table["grade"], None, ranking
        yield "grades, regression", clicks, table["grade"], None, regression
        yield "clicked at least once, lambdarank", clicks, (table["clicks"] > 0).astype(int), None, ranking
        yield "clicks / impressions, regression", clicks, table["clicks"] / table["impressions"], None, regression
        for source in ["true", "estimated"]:
            for estimator in ESTIMATORS:
                if (source, estimator) == ("estimated", "naive"):
                    continue  # naive takes no examination
                part = Part(self.folder(seed, source, estimator) / "train.svm")
                label = estimator if estimator == "naive" else f"{estimator}, {source} θ"
                yield f"{label}, weights", part, part.labels, part.weights, regression
                steps = self.folder(seed, source, estimator, "steps")
                part, parameters = Part(steps / "train.svm"), json.loads((steps / "params.json").read_text())
                gains = {"label_gain": parameters["label_gain"]}
                yield f"{label}, steps", part, part.labels, part.weights, ranking | gains


def print_table(rows, baseline):
    print(f"| labels | nDCG@5 | against {baseline} | p |\n|---|---|---|---|")
    for name, values in rows.items():
        p = scipy.stats.ttest_rel(values, rows[baseline]).pvalue if name != baseline else float("nan")
        print(f"| {name} | {values.mean():.4f} | {values.mean() - rows[baseline].mean():+.4f} | {p:.2g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truerank", type=lambda path: Path(path).resolve(), default="target/release/truerank")
    parser.add_argument("--sessions", type=int, default=600_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", default="target/lightgbm-labels")
    parser.add_argument("--table", choices=["labels", "reliability"], default="labels")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    bench.prepare()
    baseline = {"labels": "clicks / impressions, regression", "reliability": "user-aware-smoothed, all alike"}
    print_table(bench.run(arguments.table), baseline[arguments.table])


if __name__ == "__main__":
    main()
