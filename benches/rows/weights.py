"""From a log to the five weight files: ours beside NumPy session by session, and beside pandas."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .common import Row, seconds

LENGTH = 10
# Ours chooses β from the log; peers get it for free.
BETA = 5.0


def read_theta(path):
    document = json.loads(path.read_text())
    return {row["user"]: np.array(row["propensity"]) for row in document["users"]}


def sessions_of(log):
    """(user, query, docs, clicks) of each session of a log written session after session."""
    columns = {name: log[name].to_numpy() for name in ["session", "user", "query", "doc", "click"]}
    starts = np.flatnonzero(np.diff(columns["session"], prepend=-1))
    ends = np.append(starts[1:], len(columns["session"]))
    users, queries = columns["user"][starts].tolist(), columns["query"][starts].tolist()
    for user, query, start, end in zip(users, queries, starts.tolist(), ends.tolist()):
        yield user, query, columns["doc"][start:end], columns["click"][start:end]


def session_by_session(log, theta, folder):
    """The formulas as one writes them down, for logs that show each query one ranking."""
    users, of_user, of_query, of_query_and_user = list(theta), {}, {}, {}
    docs, clicks, corrected = {}, {}, {}
    for user, query, shown, clicked in sessions_of(log):
        if query not in docs:
            docs[query], of_query[query], of_query_and_user[query] = shown, 0, dict.fromkeys(users, 0)
            clicks[query], corrected[query] = np.zeros(len(shown)), np.zeros(len(shown))
        of_user[user] = of_user.get(user, 0) + 1
        of_query[query] += 1
        of_query_and_user[query][user] += 1
        clicks[query] += clicked
        corrected[query] += clicked / theta[user][: len(shown)]
    total = sum(of_user.values())
    average = sum(theta[user] * count / total for user, count in of_user.items())
    weights = {name: [] for name in ["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed"]}
    for query, shown in docs.items():
        n, length = of_query[query], len(shown)
        own = sum(theta[user][:length] * count for user, count in of_query_and_user[query].items()) / n
        rate = clicks[query] / n
        weights["naive"].append(rate)
        weights["ips-pbm"].append(rate / average[:length])
        weights["straightforward"].append(corrected[query] / n)
        weights["user-aware"].append(rate / own)
        weights["user-aware-smoothed"].append(rate * (n + BETA) / (n * own + BETA * average[:length]))
    queries = np.repeat(list(docs), [len(shown) for shown in docs.values()])
    write(queries, np.concatenate(list(docs.values())), {k: np.concatenate(v) for k, v in weights.items()}, folder)


def with_pandas(log, theta, folder):
    """Cells by a groupby, then the formulas on columns."""
    cells = log.groupby(["query", "doc", "position", "user"], as_index=False).agg(
        impressions=("click", "size"), clicks=("click", "sum")
    )
    visits = log.drop_duplicates("session")
    share = visits["user"].value_counts(normalize=True)
    average = sum(theta[user] * part for user, part in share.items())
    table = np.array([theta[user] for user in sorted(theta)])
    n = cells["query"].map(visits["query"].value_counts())
    own = table[cells["user"] - 1, cells["position"] - 1]
    mean = average[cells["position"] - 1]
    sums = pd.DataFrame(
        {
            "query": cells["query"],
            "doc": cells["doc"],
            "naive": cells["clicks"] / n,
            "ips-pbm": cells["clicks"] / n / mean,
            "straightforward": cells["clicks"] / n / own,
            "clicks": cells["clicks"],
            "exposure": cells["impressions"] * own,
            "average": cells["impressions"] * mean,
        }
    )
    pairs = sums.groupby(["query", "doc"], as_index=False).sum()
    n = pairs["query"].map(visits["query"].value_counts())
    pairs["user-aware"] = pairs["clicks"] / pairs["exposure"]
    smoothed = (n * pairs["exposure"] + BETA * pairs["average"]) / (n + BETA)
    pairs["user-aware-smoothed"] = pairs["clicks"] / smoothed
    names = ["naive", "ips-pbm", "straightforward", "user-aware", "user-aware-smoothed"]
    write(pairs["query"], pairs["doc"], {name: pairs[name] for name in names}, folder)


def write(queries, docs, weights, folder):
    folder.mkdir(exist_ok=True)
    for name, values in weights.items():
        pq.write_table(pa.table({"query": queries, "doc": docs, "weight": values}), folder / f"{name}.parquet")


def check_same(ours, theirs):
    """Both must have made the same weights, or their times say nothing."""
    for path in sorted(ours.glob("*.parquet")):
        tables = [pd.read_parquet(folder / path.name).sort_values(["query", "doc"]) for folder in (ours, theirs)]
        np.testing.assert_allclose(tables[0]["weight"], tables[1]["weight"], rtol=1e-9, atol=1e-9)


def rows(setup):
    sessions = setup.pick(1_000_000, 20_000)
    log = setup.folder / "weights.parquet"
    queries = setup.pick(19_944, 1_000)
    setup.example("simulate_log", "--sessions", sessions, "--queries", queries, "--output", log)
    propensities = log.with_suffix(".propensities.json")
    theta = read_theta(propensities)
    counts, weights, peer = (setup.folder / name for name in ["counts", "weights", "peer"])

    def run_ours(*options):
        setup.truerank("count", log, "-o", counts)
        estimators = ["--propensities", propensities, "--estimator", "all", *options]
        setup.truerank("relevance", counts, *estimators, "-o", weights)

    def run_peer(compute):
        compute(pq.read_table(log).to_pandas(), theta, peer)

    run_ours("--beta", BETA)
    for compute in (session_by_session, with_pandas):
        run_peer(compute)
        check_same(weights, peer)

    work = f"log of {sessions:,} sessions → counts → five weight files"
    return [
        Row(
            work,
            "NumPy, session by session (one ranking per query, β given, no variance)",
            "≥ 20",
            lambda: seconds(run_ours),
            lambda: seconds(lambda: run_peer(session_by_session)),
        ),
        Row(
            work,
            "pandas (β given, no variance)",
            "",
            lambda: seconds(run_ours),
            lambda: seconds(lambda: run_peer(with_pandas)),
        ),
    ]
