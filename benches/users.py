"""Quality, not time: does examination per user predict held-out clicks better than one examination for all?

    python benches/users.py sparse [--logs 20] [--sessions-per-user 2]   simulated logs of many users with few sessions
    python benches/users.py dealt FOLDER                                 users dealt at random to the real pages of
                                                                         yandex-relpred, who are all alike

Wants `pandas` and `pyarrow`, and the command line as `target/release/truerank` or `--truerank BIN`.
"""

import argparse
import gzip
import hashlib
import json
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

SESSIONS = 20_000


def run(binary, *arguments):
    """What the command prints; its own message where it fails."""
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def halves(log, seed, folder, binary):
    """Counts of three quarters of the sessions, and of the others."""
    import pandas as pd

    rows = pd.read_parquet(log)
    held = rows.session.map(lambda session: hashlib.md5(f"{seed}-{session}".encode()).digest()[0] % 4 == 0)
    for name, part in (("train", rows[~held]), ("held", rows[held])):
        part.to_parquet(folder / f"{name}.parquet")
        run(binary, "count", folder / f"{name}.parquet", "-o", folder / name)
    return folder / "train", folder / "held"


def log_likelihood(binary, data, folder, train, held, *options):
    """Of the held-out clicks, per impression, all by default settings; and of click rates by position."""
    propensities, relevance = folder / "p.json", folder / "r.parquet"
    run(binary, "propensity", train, "--data", data, "--resamples", 0, "-o", propensities, *options)
    run(binary, "relevance", train, "--data", data, "--propensities", propensities, "-o", relevance)
    inputs = ("--propensities", propensities, "--relevance", relevance, "--train-counts", train)
    found = json.loads(run(binary, "predict-clicks", held, *inputs, "--resamples", 100, "--json"))
    return found["model"]["log_likelihood"]["value"], found["click_rate_by_position"]["log_likelihood"]["value"]


def sparse(binary, logs, sessions_per_user):
    differences = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(binary, "generate", "--preset", "small", "--seed", 7, "-o", folder / "data")
        users = int(SESSIONS / sessions_per_user / 10)
        for seed in range(1, logs + 1):
            traffic = ("--users-per-cluster", users, "--user-noise", 0.1, "--zipf", 1, "--shuffle", 0.05)
            log = folder / "log.parquet"
            run(binary, "simulate", folder / "data", "--sessions", SESSIONS, *traffic, "--seed", seed, "-o", log)
            train, held = halves(log, seed, folder, binary)
            one, by_position = log_likelihood(binary, folder / "data", folder, train, held)
            own, _ = log_likelihood(binary, folder / "data", folder, train, held, "--per-user")
            differences.append(own - one)
            print(f"log {seed}: one for all {one:.5f}, per user {own:.5f}, click rates by position {by_position:.5f}")
    mean, error = statistics.mean(differences), statistics.stdev(differences) / len(differences) ** 0.5
    worse = sum(difference < 0 for difference in differences)
    print(f"per user above one for all by {mean:.5f} ± {error:.5f}, least {min(differences):.5f}, below in {worse} logs")


def dealt(binary, pages):
    source = Path(pages) / "train.jsonl.gz"
    if not source.is_file():
        print(f"skipped: {source} is not there")
        return
    with gzip.open(source, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for users in (20, 500, 5000):
            alike = 0
            for seed in range(1, 6):
                deal = random.Random(seed)
                text = "".join(json.dumps({**row, "user": deal.randrange(users)}) + "\n" for row in rows)
                (folder / "log.jsonl").write_text(text)
                run(binary, "count", folder / "log.jsonl", "-o", folder / "counts")
                run(binary, "propensity", folder / "counts", "--per-user", "--resamples", 0, "-o", folder / "p.json")
                found = json.loads((folder / "p.json").read_text())
                alike += len({tuple(row["propensity"]) for row in found["users"]}) == 1
            print(f"{users} users: all alike in {alike} of 5 deals")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sparse", "dealt"])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--logs", type=int, default=20)
    parser.add_argument("--sessions-per-user", type=float, default=2)
    parser.add_argument("--truerank", default="target/release/truerank")
    asked = parser.parse_args()
    if asked.what == "sparse":
        sparse(asked.truerank, asked.logs, asked.sessions_per_user)
    elif asked.folder is None:
        parser.error("name the folder of yandex-relpred")
    else:
        dealt(asked.truerank, asked.folder)


if __name__ == "__main__":
    main()
