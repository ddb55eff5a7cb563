"""SVMlight text: our reader beside scikit-learn's."""

from sklearn.datasets import load_svmlight_file

from .common import Row, seconds


def rows(setup):
    setup.truerank("generate", "--preset", setup.pick("small", "tiny"), "-o", setup.folder / "data")
    path = setup.folder / "data/train.txt"
    size = path.stat().st_size / 1e6
    return [
        Row(
            f"read SVMlight text, {size:.0f} MB",
            "scikit-learn `load_svmlight_file`",
            "≥ 5",
            lambda: setup.example_seconds("read_data", path),
            lambda: seconds(lambda: load_svmlight_file(str(path), dtype="float32", query_id=True)),
        )
    ]
