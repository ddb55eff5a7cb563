#!/usr/bin/env python3
"""How well held-out clicks of a real log are predicted by default settings, beside CLAX, PyClick and click rates.

    python benches/yandex_perplexity.py FOLDER
    python benches/yandex_perplexity.py FOLDER --truerank target/release/truerank --seeds 3 --shares 0.01 1

FOLDER holds `train.jsonl.gz`, one result page per line with `serp`, `query`, `docs` and `clicks`: the sample of Yandex's Relevance
Prediction log that PyClick brings. Pages are dealt at random, 75 % to learn from and 25 % to predict; of the former shares of
1, 5, 20 and 100 % are learned from, each within the next. A row is the mean over seeds.

Perplexity is exp(−mean of ln P(what happened)) over held-out impressions, with P kept within [1e-6, 1 − 1e-6]; in brackets
the mean of the perplexities of the ranks, as PyClick has it. It is the same for all:

- truerank: `count`, `propensity`, `relevance`, `predict-clicks`, with no options but files.
- CLAX: its position-based model, until held-out clicks have not been predicted better for three epochs. So what is predicted
  also says when to stop, which can only help it.
- PyClick: its position-based model by its own EM, where `pyclick.click_models` can be imported (from its repository: PyPI has
  something else under this name); else it is not run.
- click rate by position: clicks over impressions of the rank.
- click rate by document: of query and document, (c + b·r)/(n + b), r the overall rate and b the strength under which the
  training clicks are likeliest (beta-binomial).

A document that was never shown in the training pages has no parameter. In every position-based model it gets the same:
clicks over exposure of all training impressions, Σc/Σθ; in the rates by document it gets the overall rate. truerank does the first
by itself. Needs numpy; CLAX gets an environment of its own, see README.md.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from environments import environment

HERE = Path(__file__).resolve().parent
SHARES = [0.01, 0.05, 0.2, 1.0]
# Of the pages, for training.
TRAINING = 0.75
MARGIN = 1e-6
# AdamW as in CLAX's own experiments; so many epochs at most, which early stopping does not reach.
RATE, EPOCHS = 0.01, 3000


class Pages:
    """All pages as arrays: numbers of (query, document) and clicks, page by rank."""

    def __init__(self, path):
        with gzip.open(path, "rt") as file:
            self.rows = [json.loads(line) for line in file]
        length = max(len(row["docs"]) for row in self.rows)
        short = sum(len(row["docs"]) != length for row in self.rows)
        if short:
            print(f"{short} pages without {length} documents are left out", file=sys.stderr)
            self.rows = [row for row in self.rows if len(row["docs"]) == length]
        names = [(row["query"], doc) for row in self.rows for doc in row["docs"]]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self.names = list(numbers)
        self.pairs = np.array([numbers[name] for name in names]).reshape(-1, length)
        self.clicks = np.array([[doc in row["clicks"] for doc in row["docs"]] for row in self.rows], float)


class Split:
    """Which pages are learned from, and which are predicted."""

    def __init__(self, pages, share, seed):
        order = np.random.default_rng(seed).permutation(len(pages.rows))
        boundary = round(TRAINING * len(order))
        self.pages = pages
        self.train = np.sort(order[: max(1, round(share * boundary))])
        self.held_out = np.sort(order[boundary:])
        seen, shown = np.unique(pages.pairs[self.train], return_counts=True)
        self.shown = np.zeros(len(pages.names))
        self.shown[seen] = shown
        self.clicked = np.bincount(
            pages.pairs[self.train].ravel(), pages.clicks[self.train].ravel(), minlength=len(pages.names)
        )

    def perplexity(self, probabilities):
        """Over impressions, and the mean over ranks."""
        p = np.clip(probabilities, MARGIN, 1 - MARGIN)
        likelihood = np.where(self.pages.clicks[self.held_out] > 0, np.log(p), np.log1p(-p))
        return np.exp(-likelihood.mean()), np.exp(-likelihood.mean(axis=0)).mean()

    def of_position_based_model(self, theta, gamma):
        """A model's perplexity, with Σc/Σθ for documents that it has not seen."""
        exposure = theta.sum() * len(self.train)
        known = np.where(self.shown > 0, gamma, self.clicked.sum() / exposure)
        return self.perplexity(theta * known[self.pages.pairs[self.held_out]])

    def unseen(self):
        """The share of held-out impressions whose document was not seen."""
        return np.mean(self.shown[self.pages.pairs[self.held_out]] == 0)


def by_position(split, _):
    rates = split.pages.clicks[split.train].mean(axis=0)
    return split.perplexity(np.broadcast_to(rates, (len(split.held_out), len(rates))))


def by_document(split, _):
    rate = split.clicked.sum() / split.shown.sum()
    strengths = 2.0 ** np.arange(-4, 12, 0.5)
    strength = max(strengths, key=lambda b: beta_binomial(split.clicked, split.shown, b * rate, b * (1 - rate)))
    rates = (split.clicked + strength * rate) / (split.shown + strength)
    return split.perplexity(rates[split.pages.pairs[split.held_out]])


def beta_binomial(clicks, shown, a, b):
    """The log-likelihood of clicks whose rates come from a Beta(a, b), up to a constant."""
    return np.sum(rising(a, clicks) + rising(b, shown - clicks) - rising(a + b, shown))


def rising(x, n):
    """ln Γ(x + n) − ln Γ(x) for whole n."""
    steps = np.concatenate([[0.0], np.cumsum(np.log(x + np.arange(int(n.max()))))])
    return steps[n.astype(int)]


def truerank(split, setup):
    """Default settings: no options but files."""
    folder = setup.folder
    for name in ["train", "held-out"]:
        chosen = split.train if name == "train" else split.held_out
        with open(folder / f"{name}.jsonl", "w") as file:
            file.writelines(json.dumps(split.pages.rows[page]) + "\n" for page in chosen)
        setup.run("count", f"{name}.jsonl", "-o", name)
    setup.run("propensity", "train", "-o", "theta.json")
    setup.run("relevance", "train", "--propensities", "theta.json", "-o", "relevance.parquet")
    files = ["--propensities", "theta.json", "--relevance", "relevance.parquet"]
    told = json.loads(setup.run("predict-clicks", "held-out", *files, "--json"))
    ranks = [position["perplexity"]["value"] for position in told["positions"]]
    return told["model"]["perplexity"]["value"], np.mean(ranks)


def clax(split, setup):
    for name, chosen in [("train", split.train), ("held-out", split.held_out)]:
        np.savez(setup.folder / f"{name}.npz", pairs=split.pages.pairs[chosen], clicks=split.pages.clicks[chosen])
    output = setup.folder / "clax.json"
    options = ["--learning-rate", RATE, "--epochs", EPOCHS, "--threads", setup.threads, "--loader", "memory"]
    words = [setup.clax, HERE / "peers/clax_model.py", setup.folder, *options, "-o", output]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    epochs = len(json.loads(output.read_text())["training"])
    if epochs >= EPOCHS:
        print(f"CLAX had not converged after {EPOCHS} epochs", file=sys.stderr)
    found = np.load(output.with_suffix(".npz"))
    gamma = np.pad(found["attraction"], (0, len(split.pages.names) - len(found["attraction"])))
    return split.of_position_based_model(found["examination"], gamma)


def pyclick(split, _):
    from pyclick.click_models.PBM import PBM

    def session(row):
        # What is read of its sessions, whose constructor differs between versions.
        results = [SimpleNamespace(id=doc, click=int(doc in row["clicks"])) for doc in row["docs"]]
        return SimpleNamespace(query=row["query"], web_results=results)

    model = PBM()
    model.train([session(split.pages.rows[page]) for page in split.train])
    attraction, examination = model.params[PBM.param_names.attr], model.params[PBM.param_names.exam]
    theta = np.array([examination.get(rank).value() for rank in range(split.pages.pairs.shape[1])])
    gamma = np.array([attraction.get(query, doc).value() for query, doc in split.pages.names])
    return split.of_position_based_model(theta, gamma)


def has_pyclick():
    try:
        import pyclick.click_models.PBM  # noqa: F401
    except ImportError:
        return False
    return True


class Setup:
    def __init__(self, arguments, folder):
        self.binary, self.threads = arguments.truerank.resolve(), arguments.threads
        self.folder = Path(folder)
        self.clax = None if arguments.no_clax else environment(".venv-clax", "requirements-clax.txt")

    def run(self, *words):
        command = [self.binary, "--quiet", "--threads", str(self.threads), *words]
        done = subprocess.run(command, check=True, cwd=self.folder, capture_output=True, text=True)
        return done.stdout


def rows_of(setup):
    rows = {"truerank, defaults": truerank}
    rows |= {"CLAX, PBM": clax} if setup.clax else {}
    rows |= {"PyClick, PBM": pyclick} if has_pyclick() else {}
    return rows | {"click rate by position": by_position, "click rate by document": by_document}


def table(shares, seeds, pages, setup):
    rows = rows_of(setup)
    found = {name: [] for name in rows}
    unseen, sizes = [], []
    for share in shares:
        splits = [Split(pages, share, seed) for seed in seeds]
        unseen.append(np.mean([split.unseen() for split in splits]))
        sizes.append(len(splits[0].train))
        for name, predict in rows.items():
            values = np.array([predict(split, setup) for split in splits])
            found[name].append(values.mean(axis=0))
            each = " ".join(f"{value:.4f}" for value in values[:, 0])
            print(f"# {share:.0%} of the pages, {name}: {each}", file=sys.stderr, flush=True)
    lines = ["| learned from | " + " | ".join(f"{size:,} pages ({share:.0%})" for size, share in zip(sizes, shares)) + " |"]
    lines.append("|---" * (len(shares) + 1) + "|")
    for name, values in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{over:.4f} ({ranks:.4f})" for over, ranks in values) + " |")
    if not has_pyclick():
        lines.append("| PyClick, PBM | " + " | ".join("not run" for _ in shares) + " |")
    lines.append("| *held-out impressions of unseen documents* | " + " | ".join(f"{share:.2%}" for share in unseen) + " |")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with train.jsonl.gz")
    parser.add_argument("--truerank", type=Path, default=HERE.parent / "target/release/truerank", help="the program")
    parser.add_argument("--seeds", type=int, default=3, help="how many splits")
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="of the training pages")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-clax", action="store_true", help="without CLAX")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    log = arguments.folder / "train.jsonl.gz"
    if not log.exists():
        print(f"skipped: {log} is not there")
        return
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(arguments, folder)
        print(table(arguments.shares, range(1, arguments.seeds + 1), Pages(log), setup))


if __name__ == "__main__":
    main()
