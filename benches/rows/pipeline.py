"""From graded data to a judged ranker, all steps: ours beside the paper's protocol in Python.

Both read the data from files, train a production ranker on 1 % of the queries, let ten kinds of users click, make weights of
all five estimators with the simulation's own examination, train a linear ranker on the user-aware ones, and judge it on the
test part. In Python: scikit-learn, NumPy session by session, PyTorch.
"""

import copy
import json

import numpy as np
import pyarrow.parquet as pq
import torch
from sklearn.svm import LinearSVC

from . import simulating, training, weights
from .common import Row, seconds

PRODUCTION_SHARE = 0.01
STEPS = 1000


def rows(setup):
    torch.set_num_threads(setup.threads)
    folder = setup.folder / "pipeline"
    data, sessions = folder / "data", setup.pick(1_000_000, 20_000)
    folder.mkdir()
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "--format", "parquet", "-o", data)
    values = ours(setup, data, sessions, folder), protocol(data, sessions, folder)
    told = "Pipeline: nDCG@5 on the test part, each from its own log: {:.4f} ours, {:.4f} the protocol in Python."
    setup.remarks.append(told.format(*values))
    return [
        Row(
            f"data → log of {sessions:,} sessions → counts → five weight files → linear ranker → nDCG@5",
            "scikit-learn, NumPy session by session, PyTorch",
            "",
            lambda: seconds(lambda: ours(setup, data, sessions, folder)),
            lambda: seconds(lambda: protocol(data, sessions, folder)),
        )
    ]


def ours(setup, data, sessions, folder):
    """nDCG@5 on the test part."""
    log, counts, labels, ranker = (folder / name for name in ["log.parquet", "counts", "weights", "ranker.safetensors"])
    share = ["--production-share", PRODUCTION_SHARE]
    setup.truerank("simulate", data, "--sessions", sessions, *share, "-o", log)
    setup.truerank("count", log, "-o", counts)
    estimators = ["--propensities", log.with_suffix(".propensities.json"), "--estimator", "all", "--beta", weights.BETA]
    setup.truerank("relevance", counts, *estimators, "-o", labels)
    setup.truerank("train", data, "--relevance", labels / "user-aware.parquet", "--model", "linear", "-o", ranker)
    measure = ["--measure", "nDCG@5", "--json"]
    told = json.loads(setup.truerank("evaluate", data / "test.parquet", "--ranker", ranker, *measure))
    return told["measures"][0]["mean"]


def protocol(data, sessions, folder):
    """The same in Python."""
    random = np.random.default_rng(1)
    train, validation, test = (training.Part.read(data / f"{name}.parquet") for name in ["train", "vali", "test"])
    lists = shown_lists(train, production_scores(train, random))
    log, labels = folder / "python.parquet", folder / "python"
    world = simulating.Protocol([train.grades[rows].numpy() for rows in lists], lists, sessions, random)
    simulating.session_by_session(world, log)
    weights.session_by_session(pq.read_table(log).to_pandas(), dict(enumerate(world.theta)), labels)
    learned = training_part(train, pq.read_table(labels / "user-aware.parquet"))
    model = best_network(learned, validation)
    with torch.no_grad():
        return training.ndcg_at_5(test, model(test.features).squeeze(1))


def production_scores(part, random):
    """A pairwise linear SVM on 1 % of the queries."""
    queries = random.permutation(len(part.sizes))[: max(1, round(len(part.sizes) * PRODUCTION_SHARE))]
    features, grades = part.features.numpy(), part.grades.numpy()
    pairs = []
    for query in queries:
        rows = np.arange(part.starts[query], part.starts[query] + part.sizes[query])
        better, worse = np.nonzero(grades[rows][:, None] > grades[rows][None, :])
        pairs.append(features[rows[better]] - features[rows[worse]])
    differences = np.concatenate(pairs)
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    svm = LinearSVC(fit_intercept=False, dual="auto").fit(differences * signs[:, None], signs)
    return features @ svm.coef_[0].astype(np.float32)


def shown_lists(part, scores):
    """Rows of the first ten documents of each query."""
    starts, sizes = part.starts.tolist(), part.sizes.tolist()
    return [
        start + np.argsort(-scores[start : start + size], kind="stable")[: simulating.LENGTH]
        for start, size in zip(starts, sizes)
    ]


def training_part(part, table):
    """The shown documents with their weights, query after query."""
    docs, sizes = table["doc"].to_numpy(), np.unique(table["query"].to_numpy(), return_counts=True)[1]
    order = np.argsort(table["query"].to_numpy(), kind="stable")
    values = torch.tensor(table["weight"].to_numpy()[order], dtype=torch.float32)
    rows = torch.tensor(docs[order])
    return training.Part(part.features[rows], part.grades[rows], torch.tensor(sizes), values)


def best_network(part, validation):
    """The linear network of the best check."""
    best, state, model = -1.0, None, None
    for model, value in training.checks(part, validation, [], STEPS):
        if value > best:
            best, state = value, copy.deepcopy(model.state_dict())
    model.load_state_dict(state)
    return model
