"""SVMlight text: our reader against scikit-learn's, bit for bit."""

import gzip
import shutil

import numpy as np
import pytest
from conftest import truerank
from tables import read_dataset, read_svmlight, same_bits


def convert(source, folder, *options):
    target = folder / "converted.parquet"
    truerank("convert", source, *options, "-o", target)
    return read_dataset(target)


def assert_same(source, folder):
    queries, _, grades, features = convert(source, folder)
    peer_grades, peer_queries, peer_features = read_svmlight(source, features.shape[1])
    assert np.array_equal(queries, peer_queries)
    assert np.array_equal(grades, peer_grades)
    assert same_bits(features, peer_features)


def test_generated_text(data, tmp_path):
    assert_same(data / "train.txt", tmp_path)


def test_gzip(data, tmp_path):
    packed = tmp_path / "train.txt.gz"
    with open(data / "train.txt", "rb") as plain, gzip.open(packed, "wb") as file:
        shutil.copyfileobj(plain, file)
    assert_same(packed, tmp_path)


def spell(value, style):
    """One number in one of the ways people write it."""
    return [f"{value!r}", f"{value:.3f}", f"{value:e}", f"{value:.20g}", f"{value:+.1E}", f"{value:.0f}"][style]


def test_every_spelling_of_numbers(tmp_path):
    random = np.random.default_rng(5)
    magnitudes = 10.0 ** random.uniform(-42, 36, size=(2000, 12))
    values = random.choice([-1, 1], magnitudes.shape) * magnitudes
    styles = random.integers(0, 6, magnitudes.shape)
    path = tmp_path / "spellings.txt"
    with open(path, "w") as file:
        for row, (numbers, spellings) in enumerate(zip(values, styles)):
            cells = " ".join(f"{i}:{spell(float(v), s)}" for i, (v, s) in enumerate(zip(numbers, spellings), start=1))
            file.write(f"{row % 5} qid:{row // 10} {cells} # doc{row}\n")
    assert_same(path, tmp_path)


def test_missing_values(tmp_path):
    random = np.random.default_rng(9)
    values = np.where(random.random((500, 6)) < 0.2, np.nan, random.normal(size=(500, 6)))
    spellings = np.array(["nan", "NaN", "NAN"])
    path = tmp_path / "missing.txt"
    with open(path, "w") as file:
        for row, numbers in enumerate(values):
            spelled = [spellings[(row + i) % 3] if np.isnan(v) else repr(float(v)) for i, v in enumerate(numbers)]
            file.write(f"{row % 5} qid:{row // 10} " + " ".join(f"{i}:{v}" for i, v in enumerate(spelled, start=1)) + f" # doc{row}\n")
    queries, _, grades, features = convert(path, tmp_path)
    peer_grades, peer_queries, peer_features = read_svmlight(path, 6)
    assert np.array_equal(queries, peer_queries) and np.array_equal(grades, peer_grades)
    assert np.array_equal(features, peer_features, equal_nan=True) and np.isnan(features).sum() == np.isnan(values).sum()


def test_side_file_with_group_sizes(data, tmp_path):
    sizes, lines, last = [], [], None
    for line in (data / "test.txt").read_text().splitlines():
        grade, query, *features = line.split("#")[0].split()
        if query != last:
            sizes.append(0)
        sizes[-1] += 1
        last = query
        lines.append(" ".join([grade, *features]))
    path = tmp_path / "rank.test"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "rank.test.query").write_text("\n".join(map(str, sizes)) + "\n")
    queries, _, grades, features = convert(path, tmp_path)
    peer_grades, _, peer_features = read_svmlight(path, features.shape[1])
    assert [len(list(group)) for group in np.split(queries, np.cumsum(sizes)[:-1])] == sizes
    assert len(set(queries)) == len(sizes)
    assert np.array_equal(grades, peer_grades) and same_bits(features, peer_features)


@pytest.mark.parametrize("part", ["train", "test"])
def test_lightgbm_example(shared, part, tmp_path):
    source = shared / "lightgbm-lambdarank" / f"rank.{part}"
    sizes = [int(size) for size in source.with_suffix(f".{part}.query").read_text().split()]
    queries, _, grades, features = convert(source, tmp_path, "--features", 300)
    peer_grades, _, peer_features = read_svmlight(source, 300)
    assert np.array_equal(np.unique(queries, return_counts=True)[1], sizes)
    assert np.array_equal(grades, peer_grades) and same_bits(features, peer_features)


@pytest.mark.parametrize("part", ["S1", "S2", "S3", "S4", "S5"])
def test_clueweb(shared, part, tmp_path):
    assert_same(shared / "clueweb09-webis" / f"{part}.txt.gz", tmp_path)
