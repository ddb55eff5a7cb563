"""A simulated log: ours beside the paper's protocol in plain Python and NumPy."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .common import Row, seconds

ETAS = [2.5, 2, 1.8, 1.5, 1.2, 1, 0.8, 0.5, 0.2, 0]
GRADES = [0.26, 0.36, 0.28, 0.08, 0.02]
LENGTH = 10
NOISE = 0.1


class Protocol:
    """Users, traffic and lists of the protocol: the grades and documents that each query shows, from the top."""

    def __init__(self, grades, docs, sessions, random):
        self.random, self.docs = random, docs
        self.relevance = [NOISE + (1 - NOISE) * of_query / 4 for of_query in grades]
        self.positions = np.arange(1, LENGTH + 1, dtype=np.int32)
        self.theta = np.array([self.positions**-eta for eta in map(float, ETAS)])
        shares = 1.25 ** -np.arange(len(ETAS))
        self.sessions = np.round(sessions * shares / shares.sum()).astype(int)

    def traffic(self):
        """For half of the queries a uniform random number, normalised."""
        queries = len(self.relevance)
        weights = np.zeros(queries)
        active = self.random.permutation(queries)[queries // 2 :]
        weights[active] = self.random.random(len(active))
        return weights / weights.sum()

    def visits(self):
        """(user, query of each of its sessions): all queries of a user in one draw."""
        queries = len(self.relevance)
        for user, count in enumerate(self.sessions):
            yield user, self.random.choice(queries, size=count, p=self.traffic())


def session_by_session(protocol, path):
    """The protocol as one writes it down: examination and relevance drawn for each session."""
    random = protocol.random
    users, queries, docs, clicks = [], [], [], []
    for user, of_user in protocol.visits():
        theta = protocol.theta[user]
        for query in of_user:
            relevance = protocol.relevance[query]
            examined = random.random(len(relevance)) < theta[: len(relevance)]
            relevant = random.random(len(relevance)) < relevance
            users.append(user)
            queries.append(query)
            docs.append(protocol.docs[query])
            clicks.append(examined & relevant)
    lengths = np.array([len(shown) for shown in docs])
    positions = 1 + np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    write(np.array(users), np.array(queries), np.concatenate(docs), np.concatenate(clicks), positions, lengths, path)


def all_at_once(protocol, path):
    """The same with one array per column, for lists of the same length."""
    visits, relevance, docs = list(protocol.visits()), np.array(protocol.relevance), np.array(protocol.docs)
    users = np.concatenate([np.full(len(queries), user) for user, queries in visits])
    queries = np.concatenate([queries for _, queries in visits])
    random = protocol.random
    examined = random.random((len(users), LENGTH), dtype=np.float32) < protocol.theta[users]
    relevant = random.random((len(users), LENGTH), dtype=np.float32) < relevance[queries]
    positions = np.tile(protocol.positions, len(users))
    write(users, queries, docs[queries].ravel(), (examined & relevant).ravel(), positions, LENGTH, path)


def write(users, queries, docs, clicks, positions, lengths, path):
    sessions = np.arange(1, len(users) + 1)
    columns = {
        "session": np.repeat(sessions, lengths),
        "user": np.repeat(users, lengths),
        "query": np.repeat(queries, lengths),
        "doc": docs,
        "position": positions.astype(np.int32, copy=False),
        "click": clicks.astype(np.int8),
    }
    pq.write_table(pa.table(columns), path)


def rows(setup):
    sessions = setup.pick(1_000_000, 20_000)
    queries = setup.pick(19_944, 1_000)
    ours = setup.folder / "clicks.parquet"
    theirs = setup.folder / "peer.parquet"
    work = f"simulate {sessions:,} sessions × 10 on {queries:,} queries, write Parquet"

    def time_ours():
        return setup.example_seconds("simulate_log", "--sessions", sessions, "--queries", queries, "--output", ours)

    def protocol():
        random = np.random.default_rng(1)
        docs = np.arange(queries * LENGTH).reshape(queries, LENGTH)
        return Protocol(random.choice(5, size=docs.shape, p=GRADES), docs, sessions, random)

    def time_peer(simulate):
        world = protocol()
        return seconds(lambda: simulate(world, theirs))

    return [
        Row(work, "NumPy, session by session", "≥ 20", time_ours, lambda: time_peer(session_by_session)),
        Row(work, "NumPy, one array per column", "", time_ours, lambda: time_peer(all_at_once)),
    ]
