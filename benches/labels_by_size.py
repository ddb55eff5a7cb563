"""LightGBM and XGBoost on labels that `truerank export` writes, from 1 to 330 sessions per query, on real features and on generated data.

    python benches/labels_by_size.py --seeds 11-15

Prints nDCG@5 of trees on our default export beside click-through rates, LightGBM's own correction by
`position`, and human grades. Real data are looked for in ../shared/data; a set that is not there is skipped, and it says so. Each seed is
a division of the queries (60 % to train, 20 % to choose the number of trees by grades, 20 % to test) and a log. Odd seeds have ten users with
one list per query; even seeds have 300 users, Zipf traffic and 5 % of shuffled lists. Needs lightgbm, xgboost, numpy, pandas, pyarrow,
scikit-learn and scipy.
"""

import argparse
import json
import subprocess
from pathlib import Path

import lightgbm
import numpy as np
import pandas
import scipy.stats
import xgboost
from lightgbm_labels import Part, ndcg
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

PARAMETERS = {
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 20,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "verbosity": -1,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "metric": "none",
}
XGBOOST = {"eta": 0.05, "max_leaves": 15, "grow_policy": "lossguide", "max_depth": 0, "tree_method": "hist", "subsample": 0.8, "nthread": 1}
TREES, STEP = 100, 10
REGRESSION, RANKING = {"objective": "regression"}, {"objective": "lambdarank"}

# Files, the highest grade, and whether queries are in the text or in a file beside it.
REAL = {
    "ohsumed": (["train.txt.gz", "vali.txt.gz", "test.txt.gz"], 2),
    "clueweb09-webis": ([f"S{part}.txt.gz" for part in range(1, 6)], 4),
    "lightgbm-lambdarank": (["rank.train", "rank.test"], 4),
}
OURS, BEFORE = "our default", "our default before"
USERS = {1: [], 0: ["--users-per-cluster", 30, "--user-noise", 0.3, "--zipf", 0.7, "--shuffle", 0.05]}

# Sessions per query that LightGBM's `position` sees at most: it learns from single sessions, and takes as long as there are rows.
MOST_SESSIONS = 20


class Log:
    """A division of the queries of a set, and a simulated log of its training part."""

    def __init__(self, binary, shared, work, name, seed, size):
        self.binary, self.name, self.seed = binary, name, seed
        self.max_grade = REAL[name][1] if name in REAL else 4
        self.data, self.folder = work / f"{name}-{seed}/data", work / f"{name}-{seed}/{size}"
        if not self.data.exists():
            self.data.parent.mkdir(parents=True, exist_ok=True)
            self.divide(shared / name) if name in REAL else self.generate()
        self.parts = {part: read_judged(self.data / f"{part}.txt") for part in ("train", "vali", "test")}
        if not (self.folder / "labels").exists():
            self.folder.mkdir(exist_ok=True)
            self.make(size)

    def truerank(self, *words):
        command = [self.binary, "--quiet", "--threads", "1", *map(str, words)]
        done = subprocess.run(command, cwd=self.folder.parent if not self.folder.exists() else self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")

    def generate(self):
        self.truerank("generate", "--preset", "small", "--queries", "400,60,300", "--seed", self.seed, "-o", "data")

    def divide(self, source):
        """Writes all queries of a set, dealt anew by the seed."""
        parts = [read_judged(source / file) for file in REAL[self.name][0]]
        width = max(part.features.shape[1] for part in parts)
        queries = [(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))), grades) for part in parts for rows, grades in part.queries()]
        order = np.random.default_rng(self.seed).permutation(len(queries))
        ends = [int(0.6 * len(order)), int(0.8 * len(order))]
        self.data.mkdir()
        for name, chosen in zip(("train", "vali", "test"), np.split(order, ends)):
            chosen = sorted(chosen)
            rows, grades = np.concatenate([queries[at][0] for at in chosen]), np.concatenate([queries[at][1] for at in chosen])
            ids = np.repeat([at + 1 for at in chosen], [len(queries[at][1]) for at in chosen])
            dump_svmlight_file(rows, grades, str(self.data / f"{name}.txt"), zero_based=False, query_id=ids)

    def make(self, size):
        """The log, what the documented commands make of it, and labels."""
        count, data = len(self.parts["train"].sizes), ["../data", "--max-grade", self.max_grade]
        production = ["--production-share", max(4 / count, 0.01)]
        self.truerank("simulate", *data, "--sessions", size * count, "--seed", self.seed, *production, *USERS[self.seed % 2], "-o", "clicks.parquet")
        self.truerank("count", "clicks.parquet", "-o", "counts")
        try:
            self.truerank("propensity", "counts", "--data", *data, "--per-user", "--resamples", 0, "-o", "theta.json")
        except RuntimeError as error:
            if "not identifiable" not in str(error):
                raise
            print(f"# {self.folder}: too few clicks to estimate examination; the simulation's own is taken", flush=True)
            (self.folder / "theta.json").write_text((self.folder / "clicks.propensities.json").read_text())
        self.truerank("relevance", "counts", "--propensities", "theta.json", "--data", *data, "-o", "relevance.parquet")
        for trainer in ["lightgbm", "xgboost"]:
            target = "labels" if trainer == "lightgbm" else "labels-xgboost"
            self.truerank("export", "relevance.parquet", "--to", trainer, "--data", *data, "-o", target)

    def measured(self):
        """nDCG@5 on the test part by what was learned from; kept in a file, so that a run that was stopped goes on."""
        path = self.folder / "measured.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        for method, measure in self.methods().items():
            if method not in found:
                found[method] = measure()
                path.write_text(json.dumps(found))
        return found

    def methods(self):
        ours, params = Part(self.folder / "labels/train.svm"), json.loads((self.folder / "labels/params.json").read_text())
        table = self.table()
        shown, before = self.parts["train"].features[table["row"]], table["exposure"] / (table["exposure"] + 5)
        grades, rates = self.parts["train"].grades[table["row"]], table["clicks"] / table["impressions"]
        squared = {"objective": "reg:squarederror"}
        return {
            "human grades, lambdarank": lambda: self.lightgbm(shown, grades, RANKING, group=ours.sizes),
            "human grades, regression": lambda: self.lightgbm(shown, grades, REGRESSION),
            "clicks / impressions": lambda: self.lightgbm(shown, rates, REGRESSION),
            "lambdarank with position": lambda: self.lightgbm(*self.sessions()),
            BEFORE: lambda: self.lightgbm(shown, table["weight"], REGRESSION, weight=before),
            OURS: lambda: self.lightgbm(ours.features, ours.labels, params, group=ours.sizes, weight=ours.weights),
            "XGBoost, clicks / impressions": lambda: self.xgboost(xgboost.DMatrix(shown, rates), squared),
            f"XGBoost, {OURS}": lambda: self.xgboost(*self.xgboosts()),
        }

    def table(self):
        """Relevance of the training documents that were shown, in the order of the data."""
        rows = self.parts["train"].rows()
        return rows.merge(pandas.read_parquet(self.folder / "relevance.parquet"), on=["query", "doc"]).sort_values("row")

    def sessions(self):
        """Single sessions with a click: features, clicks, parameters, and what LightGBM's correction needs."""
        log = pandas.read_parquet(self.folder / "clicks.parquet")
        sessions = log[["session", "query"]].drop_duplicates()
        log = log[log["session"].isin(sessions["session"][sessions.groupby("query").cumcount() < MOST_SESSIONS])]
        log = log[log.groupby("session")["click"].transform("sum") > 0]
        log = log.merge(self.parts["train"].rows(), on=["query", "doc"]).sort_values(["session", "position"])
        sizes = log.groupby("session", sort=True).size().to_numpy()
        return self.parts["train"].features[log["row"]], log["click"], RANKING, sizes, None, log["position"] - 1

    def lightgbm(self, features, labels, parameters, group=None, weight=None, position=None):
        parameters = PARAMETERS | parameters | {"metric": "none", "seed": self.seed}
        training = lightgbm.Dataset(features, labels, group=group, weight=weight, position=position, params=parameters)
        model = lightgbm.train(parameters, training, TREES)
        return self.best(lambda rows, start: model.predict(rows, start_iteration=start, num_iteration=STEP, raw_score=True))

    def xgboosts(self):
        """XGBoost's file, whose labels have weights behind a colon, and its parameters."""
        path = self.folder / "labels-xgboost"
        return xgboost.DMatrix(f"{path / 'train.svm'}?format=libsvm"), json.loads((path / "params.json").read_text())

    def xgboost(self, training, parameters):
        model = xgboost.train(XGBOOST | parameters | {"seed": self.seed}, training, TREES)
        pad = training.num_col() - self.parts["test"].features.shape[1]

        def predict(rows, start):
            # Features of text files are numbered from 1, XGBoost's from 0.
            matrix = xgboost.DMatrix(np.pad(rows, ((0, 0), (pad, 0))))
            return model.predict(matrix, iteration_range=(start, start + STEP), output_margin=True)

        return self.best(predict)

    def best(self, predict):
        """nDCG@5 on the test part with the number of trees that is best on the validation part."""
        scores, found = {part: 0 for part in ("vali", "test")}, []
        for start in range(0, TREES, STEP):
            scores = {part: scores[part] + predict(self.parts[part].features, start) for part in scores}
            found.append([self.parts[part].ndcg(scores[part]) for part in scores])
        return max(found, key=lambda values: values[0])[1]


class Judged:
    """Documents with grades."""

    def __init__(self, features, grades, query):
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1], True])
        self.features, self.grades, self.query, self.sizes = features, grades, query, np.diff(starts)

    def queries(self):
        ends = np.cumsum(self.sizes)[:-1]
        return zip(np.split(self.features, ends), np.split(self.grades, ends))

    def rows(self):
        table = pandas.DataFrame({"query": self.query, "row": np.arange(len(self.query))})
        return table.assign(doc=table.groupby("query").cumcount() + 1)

    def ndcg(self, scores):
        return ndcg(scores, self.grades, self.sizes).mean()


def read_judged(path):
    if (sizes := Path(f"{path}.query")).exists():
        features, grades = load_svmlight_file(str(path), zero_based=False)
        query = np.repeat(np.arange(len(np.loadtxt(sizes))), np.loadtxt(sizes, dtype=int))
    else:
        features, grades, query = load_svmlight_file(str(path), query_id=True, zero_based=False)
    return Judged(features.toarray(), grades, query)


def print_tables(found, sizes):
    """Means over logs, and p of a paired t-test over logs against our default."""
    for name, table in found.groupby("set", sort=False):
        logs = table["seed"].nunique()
        print(f"\n{name}, {logs} logs of each size\n\n| labels | {' | '.join(map(str, sizes))} |\n|---|{'---|' * len(sizes)}")
        for method, values in table.groupby("method", sort=False):
            means = values.groupby("size")["ndcg"].mean()
            print(f"| {method} | {' | '.join(f'{means[size]:.4f}'[1:] for size in sizes)} |")
    print("\n| all sets, our default against | " + " | ".join(map(str, sizes)) + f" | all |\n|---|{'---|' * (len(sizes) + 1)}")
    wide = found.pivot(index=["set", "seed", "size"], columns="method", values="ndcg")
    for method in wide.columns.drop(OURS):
        ours = "XGBoost, " + OURS if method.startswith("XGBoost") else OURS
        if method == ours:
            continue
        differences = wide[ours] - wide[method]
        of_sizes = [differences[differences.index.get_level_values("size") == size] for size in sizes]
        cells = [f"{part.mean():+.4f} (p {scipy.stats.ttest_1samp(part, 0).pvalue:.2g})" for part in [*of_sizes, differences]]
        print(f"| {method} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truerank", type=lambda path: Path(path).resolve(), default=Path("target/release/truerank").resolve())
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=lambda path: Path(path).resolve(), default=Path("target/labels-by-size").resolve())
    parser.add_argument("--sets", default=",".join([*REAL, "small"]))
    parser.add_argument("--sizes", default="1,6,50,330")
    parser.add_argument("--seeds", default="11-15")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split("-"))
    sizes, found = [int(size) for size in arguments.sizes.split(",")], []
    for name in arguments.sets.split(","):
        if name in REAL and not (arguments.shared / name).exists():
            print(f"# skipped: there is no {arguments.shared / name}")
            continue
        for seed in range(first, last + 1):
            for size in sizes:
                log = Log(arguments.truerank, arguments.shared, arguments.work, name, seed, size)
                found += [(name, seed, size, method, value) for method, value in log.measured().items()]
                print(f"# {name}, seed {seed}, {size} sessions per query", flush=True)
    print_tables(pandas.DataFrame(found, columns=["set", "seed", "size", "method", "ndcg"]), sizes)


if __name__ == "__main__":
    main()
