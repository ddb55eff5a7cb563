"""Measures, tests and runs, beside those of others."""

import json

import numpy as np
import pytest

import truerank

ir_measures = pytest.importorskip("ir_measures")


def random_lists(seed, queries=60, graded=5):
    """Grades and scores without ties; some queries have no relevant document."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 25, queries)
    query = np.repeat([f"q{i:03}" for i in range(queries)], sizes)
    grade = random.integers(0, graded, len(query))
    grade[np.isin(query, ["q003", "q010"])] = 0
    return query, grade, random.permutation(len(query)) + random.random(len(query)) / 2


MEASURES = ["nDCG@1", "nDCG@5", "nDCG@10", "nDCG", "MRR", "MRR@3", "MAP", "P@1", "P@5"]


def theirs(measure):
    """The measure of ir_measures with our definition."""
    from ir_measures import AP, RR, P, nDCG

    name, _, cut = measure.partition("@")
    gains = {grade: 2**grade - 1 for grade in range(5)}
    known = {"nDCG": nDCG(gains=gains), "MRR": RR, "MAP": AP, "P": P}[name]
    return known @ int(cut) if cut else known


def by_ir_measures(measure, query, grade, scores):
    docs = [f"d{row}" for row in range(len(query))]
    qrels = [ir_measures.Qrel(q, d, int(g)) for q, d, g in zip(query, docs, grade)]
    run = [ir_measures.ScoredDoc(q, d, float(s)) for q, d, s in zip(query, docs, scores)]
    found = {value.query_id: value.value for value in ir_measures.iter_calc([theirs(measure)], qrels, run)}
    return np.array([found.get(q, 0.0) for q in dict.fromkeys(query)])


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_equal_those_of_ir_measures(measure):
    query, grade, scores = random_lists(1)
    ours = truerank.evaluate(grade, scores, query=query, measures=measure).per_query(measure)
    np.testing.assert_allclose(ours, by_ir_measures(measure, query, grade, scores), atol=1e-9)


@pytest.mark.parametrize("cut", [1, 5, 10, None])
def test_ndcg_equals_that_of_ranx(cut):
    ranx = pytest.importorskip("ranx")
    query, grade, scores = random_lists(2)
    kept = ~np.isin(query, ["q003", "q010"])  # ranx refuses queries without relevant documents.
    query, grade, scores = query[kept], grade[kept], scores[kept]
    docs = np.array([f"d{row}" for row in range(len(query))])
    by_query = lambda values: {q: dict(zip(docs[query == q], values[query == q].tolist())) for q in dict.fromkeys(query)}
    name = "ndcg_burges" + (f"@{cut}" if cut else "")
    found = ranx.evaluate(ranx.Qrels(by_query(grade)), ranx.Run(by_query(scores)), name, return_mean=False)
    measure = f"nDCG@{cut}" if cut else "nDCG"
    ours = truerank.evaluate(grade, scores, query=query, measures=measure).per_query(measure)
    np.testing.assert_allclose(np.sort(ours), np.sort(found), atol=1e-9)


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_err_equals_its_formula(cut):
    query, grade, scores = random_lists(3)
    expected = []
    for q in dict.fromkeys(query):
        ranked = grade[query == q][np.argsort(-scores[query == q])][:cut]
        stop = (2.0**ranked - 1) / 2**4
        reached = np.concatenate([[1.0], np.cumprod(1 - stop)[:-1]])
        expected.append(np.sum(reached * stop / np.arange(1, len(ranked) + 1)))
    ours = truerank.evaluate(grade, scores, query=query, measures=f"ERR@{cut}").per_query(f"ERR@{cut}")
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_the_t_test_equals_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(4)
    for size, shift in [(2, 0.1), (7, 0.0), (100, 0.2), (1000, 0.01)]:
        a = random.normal(size=size)
        b = a + random.normal(shift, 0.5, size)
        found, expected = truerank.paired_t_test(a, b), stats.ttest_rel(a, b)
        assert found.degrees == size - 1
        np.testing.assert_allclose([found.t, found.p], [expected.statistic, expected.pvalue], rtol=1e-9)
        assert found.difference == pytest.approx(np.mean(a - b))
    assert truerank.paired_t_test([1.0], [2.0]) is None
    with pytest.raises(ValueError, match="a has 2 values and b 3"):
        truerank.paired_t_test([1, 2], [1, 2, 3])


def test_scores_of_double_precision_are_not_rounded_into_ties():
    scores = [1.0, 1.0 + 1e-12]
    assert truerank.evaluate([0, 1], scores, query=[1, 1], measures="MRR")["MRR"] == 1.0


def test_an_evaluation_is_a_mapping():
    query, grade, scores = random_lists(5)
    found = truerank.evaluate(grade, scores, query=query)
    assert list(found) == ["nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "ERR@1", "ERR@3", "ERR@5", "ERR@10"]
    assert dict(found) == {name: found[name] for name in found} and len(found) == 8
    assert found["ndcg@5"] == found["nDCG@5"] == pytest.approx(found.per_query("nDCG@5").mean(), abs=1e-12)
    assert "MAP" not in found and "nonsense" not in found
    with pytest.raises(KeyError, match="MAP was not measured"):
        found["MAP"]
    assert found.queries.tolist() == list(dict.fromkeys(query))
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["query", *found] and len(frame) == 60
    assert "nDCG@5" in found._repr_html_() and repr(found).startswith("<Evaluation: nDCG@1 ")


@pytest.mark.parametrize("empty, ndcg, mrr", [("zero", 0.5, 0.5), ("one", 1.0, 0.5), ("skip", 1.0, 1.0)])
def test_what_a_query_without_relevant_documents_scores(empty, ndcg, mrr):
    """Only nDCG has a convention that calls such a query perfect; elsewhere "one" is zero."""
    found = truerank.evaluate([1, 0, 0], [2, 1, 0], query=["a", "a", "b"], measures=["nDCG@5", "MRR"], empty=empty)
    assert (found["nDCG@5"], found["MRR"]) == (ndcg, mrr)


def test_comparing():
    query, grade, scores = random_lists(6)
    other = np.random.default_rng(7).random(len(scores))
    a, b = (truerank.evaluate(grade, s, query=query, measures=["nDCG@5", "MAP"]) for s in (scores, other))
    rows = a.compare(b).to_pandas()
    assert rows["measure"].tolist() == ["nDCG@5", "MAP"]
    test = truerank.paired_t_test(a.per_query("MAP"), b.per_query("MAP"))
    assert rows.loc[1, ["difference", "t", "p"]].tolist() == [test.difference, test.t, test.p]
    both = truerank.evaluate(grade, scores, query=query, measures=["nDCG@5", "MAP"], against=other)
    assert both.against["MAP"] == b["MAP"] and both.to_dict()[1]["p"] == test.p
    assert "against" in both._repr_html_()
    other_queries = truerank.evaluate([1, 0], [1, 0], query=["x", "y"], measures=["nDCG@5", "MAP"])
    with pytest.raises(ValueError, match="different queries"):
        a.compare(other_queries)
    with pytest.raises(ValueError, match="different measures"):
        a.compare(truerank.evaluate(grade, other, query=query))


@pytest.mark.parametrize(
    "arguments, options, error, message",
    [
        (([1, 0], [1.0, np.nan]), {"query": [1, 1]}, ValueError, "the score of row 2 is not a number"),
        (([1, 0], [1.0]), {"query": [1, 1]}, ValueError, "there are 1 scores for 2 documents"),
        (([1, 0], [1.0, 2.0]), {}, ValueError, "query is missing"),
        (([1, 9], [1.0, 2.0]), {"query": [1, 1]}, ValueError, "grade: row 2"),
        (([1, 0.5], [1.0, 2.0]), {"query": [1, 1]}, ValueError, "grade: row 2"),
        (([1, 0], [1.0, 2.0]), {"query": [1, 1, 1]}, ValueError, "query has 3 values"),
        (([1, 0], [1.0, 2.0]), {"query": [1, 1], "measures": "accuracy"}, ValueError, "'accuracy' is not a measure"),
        (([1, 0], [1.0, 2.0]), {"query": [1, 1], "measures": 5}, ValueError, "'5' is not a measure"),
        (([1, 0], [1.0, 2.0]), {"query": [1, 1], "empty": "half"}, ValueError, "known are zero, one, skip"),
        (([1, 0], ["a", "b"]), {"query": [1, 1]}, TypeError, "scores is not a column of numbers"),
    ],
)
def test_refusals(arguments, options, error, message):
    with pytest.raises(error, match=message):
        truerank.evaluate(*arguments, **options)


def test_the_command_line_says_the_same(cli, tmp_path):
    data = truerank.generate("tiny", seed=3)
    data.write(tmp_path / "data")
    for name, model in [("a", "linear"), ("b", "svm-rank")]:
        truerank.Ranker(model).fit(data).write(tmp_path / f"{name}.safetensors")
    text = cli("evaluate data/test.txt --ranker a.safetensors --against b.safetensors --json --per-query")
    a, b = (truerank.Ranker.read(tmp_path / f"{name}.safetensors") for name in "ab")
    found = truerank.evaluate(data.test, a, against=b)
    assert found.to_dict(per_query=True) == json.loads(text)["measures"]
    for name in ["run.trec", "run.parquet"]:
        cli(f"score data/test.txt --ranker a.safetensors -o cli-{name}")
        truerank.write_run(data.test, a, tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / f"cli-{name}").read_bytes()


def test_runs_of_any_scores(tmp_path):
    data = truerank.Dataset.from_arrays([[0.0], [1.0], [2.0]], query=["a", "a", "b"], doc=["x", "y", "z"])
    truerank.write_run(data, [0.25, 0.5, 0.125], tmp_path / "run", tag="mine")
    assert (tmp_path / "run").read_text() == "a Q0 y 1 0.5 mine\na Q0 x 2 0.25 mine\nb Q0 z 1 0.125 mine\n"


@pytest.fixture(scope="module")
def clicks():
    data = truerank.generate("tiny", seed=5)
    simulation = truerank.simulate(data, sessions=20_000, seed=5)
    return data, simulation, simulation.counts()


def test_clicks_judge_as_the_command_line_does(cli, clicks, tmp_path):
    data, simulation, counts = clicks
    data.write(tmp_path / "data")
    counts.write(tmp_path / "counts")
    simulation.propensities.write(tmp_path / "p.json")
    a, b = truerank.Ranker("linear").fit(data), truerank.Ranker("svm-rank").fit(data)
    a.write(tmp_path / "a.st"), b.write(tmp_path / "b.st")
    options = "--clicks counts --propensities p.json --self-normalised --clip 0.01 --json"
    text = cli(f"evaluate data/train.txt --ranker a.st --against b.st {options}")
    found = truerank.evaluate_clicks(
        data.train, a, counts, simulation.propensities, against=b, self_normalised=True, clip=0.01
    )
    assert found.to_dict() == json.loads(text)["clicks"]


def test_judging_by_clicks(clicks):
    data, simulation, counts = clicks
    found = truerank.evaluate_clicks(data.train, data.train.grades, counts, simulation.propensities)
    assert list(found) == ["DCG@5", "DCG@10", "nDCG@5", "nDCG@10", "ARP"]
    low, high = found.interval("nDCG@5")
    assert low < found["nDCG@5"] < high
    assert found.as_shown["nDCG@5"] < found["nDCG@5"] and list(found.candidates) == sorted(found)
    assert "as shown" in found._repr_html_() and "queries" in repr(found)
    with pytest.raises(ValueError, match="also in the training log"):
        truerank.evaluate_clicks(data.train, data.train.grades, counts, simulation.propensities, train_counts=counts)
    with pytest.raises(ValueError, match="clip is for user-aware"):
        truerank.evaluate_clicks(
            data.train, data.train.grades, counts, simulation.propensities, estimator="naive", clip=0.1
        )


def test_rows_in_any_order_give_the_same():
    grade, scores, query = [2, 1, 0, 3, 1], [0.3, 0.9, 0.1, 0.2, 0.5], ["a", "b", "a", "b", "a"]
    order = [0, 2, 4, 1, 3]
    mixed = truerank.evaluate(grade, scores, query=query)
    sort = [[column[row] for row in order] for column in (grade, scores, query)]
    assert dict(mixed.items()) == dict(truerank.evaluate(sort[0], sort[1], query=sort[2]).items())
    assert mixed.queries.tolist() == ["a", "b"]
