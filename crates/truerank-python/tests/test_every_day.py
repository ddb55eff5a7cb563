"""Counts of several days: added, thinned and compared."""

import pathlib

import pytest

import truerank




def log(day, clicks):
    pages = [f"{day}-{page}" for page in range(len(clicks))]
    columns = {"session": [], "user": [], "query": [], "doc": [], "position": [], "click": []}
    for number, (page, click) in enumerate(zip(pages, clicks)):
        for position in (1, 2):
            row = (page, f"u{number % 20}", f"q{number % 67}", f"d{position}", position, int(click == position))
            for name, value in zip(columns, row):
                columns[name].append(value)
    return columns


def same(a: pathlib.Path, b: pathlib.Path):
    files = lambda folder: {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    assert files(a) == files(b)


def test_days_add_up(tmp_path):
    logs = [log(day, [(page * day) % 3 for page in range(200)]) for day in (1, 2)]
    for day, one in enumerate(logs):
        truerank.Counts.from_log(one, patterns=True).write(tmp_path / str(day))
    both = {name: logs[0][name] + logs[1][name] for name in logs[0]}
    truerank.Counts.from_log(both, patterns=True).write(tmp_path / "both")
    totals = truerank.merge([tmp_path / "0", tmp_path / "1"], tmp_path / "merged")
    assert totals["sessions"] == 400
    same(tmp_path / "merged", tmp_path / "both")
    truerank.merge([tmp_path / "both"], tmp_path / "left", without=[tmp_path / "1"])
    same(tmp_path / "left", tmp_path / "0")
    recent = truerank.merge([tmp_path / "0", tmp_path / "1"], tmp_path / "recent", half_life=1)
    assert recent["weights"] == [0.5, 1.0]
    with pytest.raises(ValueError, match="has result pages that"):
        truerank.merge([tmp_path / "both", tmp_path / "1"], tmp_path / "unwanted")


def test_drift_is_found_where_clicks_move():
    old = truerank.Counts.from_log(log(1, [page % 3 for page in range(600)]))
    same_again = truerank.Counts.from_log(log(2, [(page + 1) % 3 for page in range(600)]))
    other = truerank.Counts.from_log(log(3, [1 if page % 10 else 2 for page in range(600)]))
    assert truerank.drift(old, same_again).drifted is False
    found = truerank.drift(old, other)
    assert found.drifted is True
    assert any(change["drifted"] and change["aspect"] == "click-rate" for change in found.changes)
    assert "<html" in found.html
    with pytest.raises(TypeError, match="should be two Counts"):
        truerank.drift(old, 3)


def test_a_fit_starts_from_that_of_an_earlier_day(tmp_path):
    data = truerank.generate("tiny", seed=1)
    days = [truerank.simulate(data, sessions=4000, seed=seed).counts() for seed in (1, 2)]
    first = truerank.fit(days[0], data, tmp_path / "out", steps=20)
    again = truerank.fit(days[1], data, warm=tmp_path / "out", steps=20)
    tried = [outcome.to_dict()["training"]["tried"] for outcome in (first, again)]
    assert len(tried[0]) == 4 and len(tried[1]) == 1
    models = [outcome.to_dict()["training"]["model"] for outcome in (first, again)]
    assert models[0] == models[1] == tried[1][0]["model"]
    with pytest.raises((OSError, ValueError), match="fit.json"):
        truerank.fit(days[1], data, warm=tmp_path)
