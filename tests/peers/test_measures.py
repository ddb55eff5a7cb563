"""Measures and significance: against ir_measures (gdeval, pytrec_eval), scikit-learn and SciPy.

Peers get `-rank` as the score: they break ties by document id, we by the order of the file, and a run file says which
order we meant.
"""

import ir_measures
import numpy as np
import pytest
import scipy.stats
from conftest import truerank, truerank_json
from sklearn.metrics import ndcg_score
from tables import read_parquet, read_svmlight

CUTS = [1, 3, 5, 10]

# Ours, theirs, and how closely they print it.
PAIRS = (
    [(f"nDCG@{k}", f"nDCG(dcg='exp-log2')@{k}", 5.1e-6) for k in CUTS]
    + [(f"ERR@{k}", f"ERR@{k}", 5.1e-6) for k in CUTS]
    + [(f"P@{k}", f"P@{k}", 1e-9) for k in CUTS]
    + [("MAP", "AP", 1e-9), ("MAP@5", "AP@5", 1e-9), ("MRR", "RR", 1e-9)]
)


@pytest.fixture(scope="module")
def graded(data, tmp_path_factory):
    """The test part with queries that have no relevant document, and documents that tie."""
    queries, kept = {}, []
    for line in (data / "test.txt").read_text().splitlines():
        grade, query, *features = line.split("#")[0].split()
        number = queries.setdefault(query, len(queries))
        if number % 7 == 3:
            grade = "0"
        if kept and len(kept) % 5 == 0 and kept[-1][1] == query:
            features = kept[-1][2]
        kept.append((grade, query, features))
    path = tmp_path_factory.mktemp("graded") / "test.txt"
    path.write_text("".join(f"{grade} {query} {' '.join(features)}\n" for grade, query, features in kept))
    return path


def per_query(graded, ranker, measures, *options):
    """{measure: values by query}, and the ids of the queries."""
    wanted = [word for measure in measures for word in ("--measure", measure)]
    found = truerank_json("evaluate", graded, "--ranker", ranker, "--per-query", *wanted, *options)
    values = {entry["measure"]: np.array(entry["per_query"], dtype=float) for entry in found["measures"]}
    return values, found["query_ids"]


def ranked(graded, ranker, folder):
    """The run as (query, doc, rank, score) rows."""
    path = folder / "run.trec"
    truerank("score", graded, "--ranker", ranker, "-o", path)
    rows = [line.split() for line in path.read_text().splitlines()]
    return [(query, doc, int(rank), float(score)) for query, _, doc, rank, score, _ in rows]


def judged(graded):
    """{query: grades in the order of the file}; documents are numbered from 1 within their query."""
    grades, queries, _ = read_svmlight(graded)
    found = {}
    for grade, query in zip(grades, queries):
        found.setdefault(str(query), []).append(int(grade))
    return found


def test_runs_are_ordered_and_ties_keep_the_order_of_the_file(graded, linear, tmp_path):
    run = ranked(graded, linear, tmp_path)
    ties = 0
    for (query, doc, rank, score), (next_query, next_doc, next_rank, next_score) in zip(run, run[1:]):
        if query == next_query:
            assert next_rank == rank + 1 and next_score <= score
            if score == next_score:
                ties += 1
                assert int(doc) < int(next_doc)
    assert ties > 50, "the data was made to have ties"
    truerank("score", graded, "--ranker", linear, "-o", tmp_path / "run.parquet")
    table = read_parquet(tmp_path / "run.parquet")
    same = zip(run, table.itertuples(index=False))
    assert all((q, d, r, np.float32(s)) == (str(t.query), str(t.doc), t.rank, t.score) for (q, d, r, s), t in same)


@pytest.mark.parametrize("model", ["linear", "mlp", "svm_rank"])
def test_against_ir_measures(graded, model, request, tmp_path):
    ranker = request.getfixturevalue(model)
    grades = judged(graded)
    assert any(sum(of_query) == 0 for of_query in grades.values())
    qrels = [
        ir_measures.Qrel(query, str(doc), grade)
        for query, of_query in grades.items()
        for doc, grade in enumerate(of_query, start=1)
    ]
    run = [ir_measures.ScoredDoc(query, doc, -rank) for query, doc, rank, _ in ranked(graded, ranker, tmp_path)]
    peers = {theirs: ir_measures.parse_measure(theirs) for _, theirs, _ in PAIRS}
    found = {}
    for metric in ir_measures.iter_calc(list(peers.values()), qrels, run):
        found[metric.measure, metric.query_id] = metric.value
    values, queries = per_query(graded, ranker, [ours for ours, _, _ in PAIRS])
    for ours, theirs, closeness in PAIRS:
        expected = [found[peers[theirs], query] for query in queries]
        np.testing.assert_allclose(values[ours], expected, rtol=0, atol=closeness, err_msg=ours)


def test_ndcg_against_scikit_learn(graded, mlp, tmp_path):
    ranks = {}
    for query, doc, rank, _ in ranked(graded, mlp, tmp_path):
        ranks.setdefault(query, {})[int(doc)] = rank
    values, queries = per_query(graded, mlp, [f"nDCG@{k}" for k in CUTS] + ["nDCG"])
    grades = judged(graded)
    for cut in [*CUTS, None]:
        ours = values["nDCG" if cut is None else f"nDCG@{cut}"]
        for value, query in zip(ours, queries):
            gains = np.exp2(grades[query]) - 1
            if len(gains) < 2:
                continue  # scikit-learn refuses lists of one document
            scores = [-ranks[query][doc] for doc in range(1, len(gains) + 1)]
            assert abs(value - ndcg_score([gains], [scores], k=cut, ignore_ties=True)) < 1e-12


def test_queries_without_relevant_documents(graded, linear):
    """`--empty` changes exactly those queries, and the mean follows."""
    empty = np.array([sum(grades) == 0 for grades in judged(graded).values()])
    zero, _ = per_query(graded, linear, ["nDCG@5"])
    one, _ = per_query(graded, linear, ["nDCG@5"], "--empty", "one")
    skip, _ = per_query(graded, linear, ["nDCG@5"], "--empty", "skip")
    zero, one, skip = zero["nDCG@5"], one["nDCG@5"], skip["nDCG@5"]
    assert (zero[empty] == 0).all() and (one[empty] == 1).all() and np.isnan(skip[empty]).all()
    assert np.array_equal(zero[~empty], one[~empty]) and np.array_equal(zero[~empty], skip[~empty])
    found = truerank_json("evaluate", graded, "--ranker", linear, "--measure", "nDCG@5", "--empty", "skip")
    assert abs(found["measures"][0]["mean"] - np.nanmean(skip)) < 1e-12
    assert found["empty_queries"] == empty.sum()


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_paired_t_test_against_scipy(graded, linear, mlp, svm_rank, empty):
    measures = ["nDCG@5", "ERR@10", "MAP", "P@3"]
    wanted = [word for measure in measures for word in ("--measure", measure)]
    for one, other in [(linear, mlp), (linear, svm_rank), (mlp, svm_rank)]:
        found = truerank_json("evaluate", graded, "--ranker", one, "--against", other, "--empty", empty, *wanted)
        ours, theirs = (per_query(graded, ranker, measures, "--empty", empty)[0] for ranker in (one, other))
        for entry in found["measures"]:
            a, b = ours[entry["measure"]], theirs[entry["measure"]]
            expected = scipy.stats.ttest_rel(a, b, nan_policy="omit")
            assert abs(entry["p"] - expected.pvalue) < 1e-9
            assert abs(entry["t"] - expected.statistic) < 1e-9 * max(1, abs(expected.statistic))
            assert abs(entry["difference"] - np.nanmean(a - b)) < 1e-12
