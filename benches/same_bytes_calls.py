"""Calls every stage of the Python package and writes what they give into the folder it runs in; `same_bytes.py` runs it.

Each function that is marked as a step makes files; what it returns is printed as JSON, and so is what it raises. A step that a later
one needs keeps its values in `kept`.
"""

import json
import pathlib
import pickle
import sys
import types
import warnings

import numpy
import pandas
import polars
import pyarrow.parquet
import truerank
from truerank import propensity

warnings.simplefilter("ignore")

kept = types.SimpleNamespace()
STEPS = []


def step(function):
    STEPS.append(function)
    return function


def _write(ranker, path):
    """Versions before 0.1.0 call it `save`."""
    (ranker.write if hasattr(ranker, "write") else ranker.save)(path)


def plain(value):
    """A value as JSON has it; floats keep all digits."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, numpy.ndarray):
        return [str(value.dtype), *plain(value.tolist())]
    if isinstance(value, numpy.generic):
        return value.item()
    return value


def write_json(name, value):
    pathlib.Path(name).write_text(json.dumps(plain(value), indent=1))


def write_table(name, table):
    write_json(name, {column: table[column] for column in table.columns})


@step
def generate():
    kept.data = truerank.generate("tiny", seed=1)
    kept.data.write("data")
    kept.data.write("parquet", form="parquet")
    truerank.generate("tiny", seed=2, queries=(30, 10, 10), features=7).write("small")


@step
def data_sets():
    read = truerank.read_splits("data")
    assert read.train == kept.data.train
    truerank.read_svmlight("zero.txt", zero_based=True, feature_count=12, max_grade=2).write("zero.parquet")
    again = truerank.Dataset.from_arrays(read.test.features, read.test.grades, read.test.query, read.test.docs)
    again.select(range(5)).write("five.txt")
    truerank.split_by_query(read.train, (0.6, 0.2, 0.2), seed=3).write("split")
    kept.data.test.to_pandas().to_csv("test.csv", index=False)


@step
def simulate():
    kept.simulation = truerank.simulate(kept.data, sessions=6000, swap=0.3, seed=1)
    kept.simulation.write("clicks.parquet")
    kept.truth = kept.simulation.propensities
    kept.truth.write("truth.json")
    write_json("simulation.json", {"relevance": kept.simulation.relevance})


@step
def simulate_otherwise():
    options = {"users": 5, "zipf": 1.0, "shuffle": 0.1, "click_noise": 0.2, "length": 5, "production_share": 0.2, "seed": 2}
    truerank.simulate(kept.data, sessions=1000, **options).write("few.csv")
    several = truerank.simulate(kept.data, sessions=1000, etas=[0.5, 1, 2], users_per_cluster=3, user_noise=0.1, shared_queries=True)
    several.counts(patterns=True).write("drawn")


@step
def count_tables():
    log = kept.simulation.log()
    kept.counts = truerank.Counts.from_log(log, patterns=True)
    kept.counts.write("counts")
    frame = log.to_pandas()
    truerank.Counts.from_log(frame).write("from-pandas")
    truerank.Counts.from_log(polars.from_pandas(frame)).write("from-polars")
    truerank.Counts.from_log({name: frame[name].to_numpy() for name in frame.columns}).write("from-arrays")
    truerank.Counts.from_log(pyarrow.parquet.read_table("clicks.parquet")).write("from-arrow")
    write_table("cells.json", kept.counts.cells)
    write_json("summary.json", kept.counts.summary)


@step
def count_files():
    read = truerank.Counts.from_log
    read("clicks.parquet", memory="1MiB").write("from-parquet")
    shop = {"session": "user+page", "time": "day"}
    read("shop.tsv", columns=shop, since="2024-03-03", until="2024-03-25").write("by-time")
    read("shop.json", columns=shop).write("from-json")
    read("news.csv", columns={"session": "userid+taskid", "query": None}, click_when="dwell_time>0").write("from-news")
    read("pages.csv", list_separator="|", clicks="docs").write("from-pages")
    read(["parts/a.csv", "parts/b.csv"]).write("two-files")
    read("bare.csv", header=["session", "user", "query", "doc", "position", "click"]).write("bare")
    read("train.yandex", format="yandex").write("from-yandex")
    read("events.csv", events={"column": "kind", "click": "open"}, columns={"session": "who", "user": None}).write("from-events")
    left_out = read("bad.csv", on_bad_row="skip")
    left_out.write("skipped")
    write_json("remarks.json", left_out.remarks)


@step
def split_counts():
    for name, part in zip(["some", "others"], kept.counts.split_queries(0.3, seed=2)):
        part.write(name)


def estimate(name, method, *data):
    found = method.fit(kept.counts, *data).propensities_
    found.write(f"{name}.json")
    write_table(f"{name}-table.json", found.table)
    return found


@step
def propensity_em():
    estimate("em", propensity.RegressionEM(resamples=3), kept.data)
    kept.users = estimate("users", propensity.RegressionEM(per_user=True, resamples=2), kept.data)
    write_json("error.json", kept.users.error_against(kept.truth, kept.counts))


@step
def propensity_em_otherwise():
    published = propensity.RegressionEM(per_user=True, shrink="none", relevance="mlp:8", prior="none", iterations=5, resamples=0)
    estimate("mlp-em", published, kept.data)
    estimate("table-em", propensity.RegressionEM(per_user=True, shrink="population", relevance="table", resamples=2, seed=3))
    k_means = propensity.RegressionEM(per_user=True, clusters=3, grouping="k-means", resamples=0)
    estimate("k-means", k_means, kept.data)


@step
def propensity_interventions():
    estimate("swap", propensity.SwapExperiment(per_user=True, resamples=3))
    estimate("harvesting", propensity.InterventionHarvesting(per_user=True, weighting="documents"))
    estimate("cpbm", propensity.CPBM(iterations=30, resamples=2))
    features = (numpy.arange(1, 11), numpy.arange(20).reshape(10, 2) / 7)
    estimate("cpbm-features", propensity.CPBM(user_features=features, iterations=30, resamples=0))


@step
def propensity_models():
    estimate("user-pbm", propensity.UserPBM(iterations=3), kept.data)
    estimate("dla", propensity.DLA(per_user=True, iterations=20, ranker="dla.safetensors"), kept.data)
    estimate("dla-mlp", propensity.DLA(model="mlp:8", iterations=10, seed=2), kept.data)


@step
def propensity_given():
    given = truerank.Propensities.from_arrays([1, 0.5, 0.25], users=["a", "b"], by_user=[[1, 0.5, 0.25], [1, 0.8, 0.6]])
    given.write("given.json")
    write_json("of-user.json", given.of_user("b"))


@step
def relevance_estimators():
    for estimator in ["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed"]:
        found = truerank.relevance(kept.counts, kept.truth, estimator=estimator)
        found.write(f"{estimator}.parquet")
        write_json(f"{estimator}-diagnostics.json", found.diagnostics())


@step
def relevance_priors():
    kept.weights = truerank.relevance(kept.counts, kept.truth)
    kept.weights.write("default.parquet")
    smoothed = {"estimator": "user-aware-smoothed"}
    truerank.relevance(kept.counts, kept.truth, **smoothed, beta="likelihood", prior="mean", shrink=3).write("mean.parquet")
    truerank.relevance(kept.counts, kept.truth, **smoothed, beta=2, prior="position", clip=0.05).write("position.parquet")
    truerank.relevance(kept.counts, kept.users, data=kept.data).write("model.parquet")
    mlp = truerank.relevance(kept.counts, kept.truth, data=kept.data, prior="model", prior_model="mlp:8", shrink="auto", seed=2)
    mlp.write("mlp-prior.parquet")
    write_json("on.json", mlp.on(kept.data.train))


@step
def labels():
    for name, options in {
        "lightgbm": {}, "steps": {"form": "steps", "steps": 4, "click_noise": 0.1}, "xgboost": {"to": "xgboost", "form": "gains"},
    }.items():
        found = kept.weights.labels(kept.data, **options)
        fields = ("rows", "label", "weight", "group", "params")
        write_json(f"labels-{name}.json", {field: getattr(found, field) for field in fields})


def train(name, y=None, **options):
    ranker = truerank.Ranker(**options).fit(kept.data, y)
    _write(ranker, f"{name}.safetensors")
    write_json(f"{name}-record.json", {"record": ranker.record_, "unmatched": ranker.unmatched_})
    return ranker


@step
def train_on_weights():
    kept.linear = train("linear", kept.weights, model="linear")
    kept.mlp = train("mlp", kept.weights, steps=10)
    scaled = {"model": "mlp:16,8", "steps": 20, "scaling": "standard", "patience": 2, "check_every": 5, "validation_measure": "ERR@3"}
    train("scaled", kept.weights, **scaled)
    kept.raw = train("raw", kept.weights, model="linear-raw", l2=0.01)


@step
def train_on_grades():
    train("grades", model="mlp:8", optimizer="adam", learning_rate=0.1, batch=16, clip=1.0, steps=15, seed=2)
    train("svm", model="svm-rank", share=0.5, cost=2.0)


@step
def train_on_pairs():
    for ratio in ["prs", "prs-by-score"]:
        pairs = truerank.pair_weights(kept.counts, kept.truth, ratio)
        train(ratio, pairs, model="linear", steps=20)
        write_json(f"{ratio}-pairs.json", pairs.of_query(pairs.queries[0].item()))


@step
def train_on_arrays():
    part = kept.data.train
    weights = numpy.arange(len(part)) % 7 / 7
    ranker = truerank.Ranker("linear", steps=5).fit(part.features, weights, query=part.query)
    _write(ranker, "arrays.safetensors")
    write_json("scores.json", ranker.predict(kept.data.test.features))
    assert pickle.loads(pickle.dumps(ranker)).predict(part).tolist() == ranker.predict(part).tolist()


@step
def evaluate():
    options = {"measures": ["nDCG@10", "MAP", "MRR", "P@3", "ARP"], "empty": "skip"}
    found = truerank.evaluate(kept.data.test, kept.linear, against=kept.mlp, **options)
    write_json("evaluation.json", found.to_dict(per_query=True))
    write_table("comparison.json", found.compare(found.against))
    write_json("usual.json", truerank.evaluate(kept.data.test, kept.data.test.grades).to_dict())


@step
def evaluate_clicks():
    some, others = kept.counts.split_queries(0.5)
    found = truerank.evaluate_clicks(kept.data.train, kept.linear, others, kept.truth, train_counts=some, resamples=50)
    write_json("clicks.json", found.to_dict())
    other = {"against": kept.raw, "estimator": "user-aware", "clip": 0.1, "self_normalised": True, "resamples": 50, "seed": 2}
    write_json("clicks-against.json", truerank.evaluate_clicks(kept.data.train, kept.linear, kept.counts, kept.truth, **other).to_dict())


@step
def score_and_export():
    truerank.write_run(kept.data.test, kept.linear, "run.trec", tag="mine")
    truerank.write_run(kept.data.test, kept.mlp, "run.parquet")
    kept.mlp.export("mlp.onnx")
    kept.raw.export("raw.json", "elasticsearch", name="mine", feature_names=pathlib.Path("names.txt").read_text().split())


@step
def doctor():
    found = truerank.doctor("clicks.parquet", kept.data, permutations=99)
    write_json("doctor.json", found.to_dict())
    found.report("doctor")
    write_json("doctor-counts.json", truerank.doctor(kept.counts, permutations=49, level=0.05, seed=2).to_dict())
    frame = pandas.read_csv("shop.tsv", sep="\t")
    shop = truerank.doctor(frame, columns={"session": "user+page", "time": "day"}, permutations=49)
    write_json("doctor-shop.json", shop.to_dict())


@step
def fit():
    found = truerank.fit("clicks.parquet", kept.data, "fit", steps=20)
    write_json("fit.json", found.to_dict())
    _write(found.ranker, "fitted.safetensors")


@step
def fit_otherwise():
    shop = {"session": "user+page", "time": "day"}
    write_json("fit-time.json", truerank.fit("shop.tsv", columns=shop, split="time", held_out=0.3, output="fit-time").to_dict())
    frame = pandas.read_csv("shop.tsv", sep="\t")
    write_json("fit-frame.json", truerank.fit(frame, columns={"session": "user+page"}, prior="mean", shrink=2.0).to_dict())
    options = {"propensities": kept.truth, "estimator": "straightforward", "model": "mlp:8", "steps": 10, "scaling": "paper"}
    found = truerank.fit(kept.simulation.log(), kept.data, split="page", **options)
    found.report("fit-given")
    found.relevance.write("fit-given.parquet")


@step
def experiment():
    found = truerank.experiment.rq1(preset="tiny", sessions=2000, seeds=2, model="linear", folder="experiment")
    write_json("experiment.json", found.to_dict())
    truerank.experiment.Results.read("experiment").report("drawn")
    truerank.experiment.run(["rq2"], preset="tiny", sessions=2000, sizes=[500], seeds=1, model="linear", folder="more")


WRONG = {
    "count: a file that is not there": lambda: truerank.Counts.from_log("nowhere.csv"),
    "count: bad rows": lambda: truerank.Counts.from_log("bad.csv"),
    "count: an unknown field": lambda: truerank.Counts.from_log("clicks.parquet", columns={"customer": "who"}),
    "count: a column that is not there": lambda: truerank.Counts.from_log("clicks.parquet", columns={"user": "who"}),
    "count: an unknown keyword": lambda: truerank.Counts.from_log("clicks.parquet", colums={}),
    "count: a condition": lambda: truerank.Counts.from_log("news.csv", click_when="dwell_time=>3"),
    "count: a time": lambda: truerank.Counts.from_log("clicks.parquet", since="yesterday"),
    "count: memory": lambda: truerank.Counts.from_log("clicks.parquet", memory="much"),
    "em: clusters without users": lambda: propensity.RegressionEM(clusters=3).fit(kept.counts, kept.data),
    "em: an unknown relevance": lambda: propensity.RegressionEM(relevance="tree").fit(kept.counts, kept.data),
    "em: a tolerance": lambda: propensity.RegressionEM(tolerance=-1.0).fit(kept.counts, kept.data),
    "dla: no features": lambda: propensity.DLA().fit(kept.counts),
    "relevance: an unknown estimator": lambda: truerank.relevance(kept.counts, kept.truth, estimator="best"),
    "relevance: no features": lambda: truerank.relevance(kept.counts, kept.truth, prior="model"),
    "relevance: clip": lambda: truerank.relevance(kept.counts, kept.truth, clip=2),
    "relevance: shrinkage of naive": lambda: truerank.relevance(kept.counts, kept.truth, estimator="naive", shrink="auto"),
    "train: an unknown model": lambda: truerank.Ranker("tree").fit(kept.data, kept.weights),
    "train: share of an MLP": lambda: truerank.Ranker(share=0.5).fit(kept.data, kept.weights),
    "train: a batch of 0": lambda: truerank.Ranker(batch=0).fit(kept.data, kept.weights),
    "train: a batch of text": lambda: truerank.Ranker(batch="many").fit(kept.data, kept.weights),
    "train: a learning rate": lambda: truerank.Ranker(learning_rate=-1.0).fit(kept.data, kept.weights),
    "evaluate: a measure": lambda: truerank.evaluate(kept.data.test, kept.linear, measures="precision"),
    "export: an MLP as weights": lambda: kept.mlp.export("out.json", "elasticsearch"),
    "fit: a share": lambda: truerank.fit("clicks.parquet", kept.data, held_out=1.0),
    "doctor: no permutations": lambda: truerank.doctor(kept.counts, permutations=0),
    "simulate: users": lambda: truerank.simulate(kept.data, users=7),
    "generate: a preset": lambda: truerank.generate("huge"),
    "experiment: a question": lambda: truerank.experiment.run("rq9"),
}


def said(work):
    """What a call returns or raises, as `same_bytes.py` compares it."""
    try:
        found = work()
    except Exception as error:
        return {"exit code": 2, "raised": f"{type(error).__name__}: {error}"}
    return {"exit code": 0, "raised": "" if found is None else f"nothing, but {type(found).__name__} was returned"}


def main():
    outcome = {function.__name__: said(function) for function in STEPS}
    for name, entry in outcome.items():
        if entry["exit code"]:
            print(f"{name}: {entry['raised']}", file=sys.stderr)
    outcome |= {f"wrong {name}": said(work) for name, work in WRONG.items()}
    json.dump(outcome, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
