"""Frames of pandas, Polars and PyArrow, which are imported only where they are asked for."""


def _framed(columns, kind):
    """Columns by name as a frame of `kind`: pandas, polars or pyarrow."""
    import importlib

    made = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[kind]
    return getattr(importlib.import_module(kind), made)(columns)


def dataset(data, kind):
    """A row per document: query, doc, grade where there are grades, and the features by name, or f1, f2, …"""
    names = data.feature_names or [f"f{number}" for number in range(1, data.feature_count + 1)]
    columns = {"query": data.query, "doc": data.docs}
    if data.grades is not None:
        columns["grade"] = data.grades
    taken = [name for name in names if name in columns]
    if taken:
        raise ValueError(f"a feature is called '{taken[0]}' as a column of ids or grades is; give it another name")
    columns.update(zip(names, data.features.T))
    return _framed(columns, kind)


def from_frame(frame, ids, features, max_grade):
    """The documents of a frame, whose columns of queries, documents and grades `ids` names."""
    from ._truerank import Dataset

    query, doc, grade = ids
    columns = list(frame.columns)
    if query not in columns:
        raise ValueError(f"query is '{query}', but the frame has no such column; it has {', '.join(map(str, columns))}")
    if features is None:
        features = [name for name in columns if name not in ids]
    unknown = [name for name in features if name not in columns]
    if unknown:
        raise ValueError(f"features has '{unknown[0]}', but the frame has no such column")

    def known(name):
        return frame[name].to_numpy() if name in columns else None

    return Dataset.from_arrays(
        frame[list(features)].to_numpy(),
        known(grade),
        known(query),
        known(doc),
        max_grade=max_grade,
        feature_names=[str(name) for name in features],
    )


def evaluation(found, kind):
    """A row per query: query, and the value of each measure."""
    return _framed({"query": found.queries, **{measure: found.per_query(measure) for measure in found}}, kind)


def csv(text):
    """A table of a report: numbers where a column has nothing else, and where cells are empty nothing."""
    import csv
    import io

    import pandas

    header, *rows = csv.reader(io.StringIO(text))
    columns = zip(*rows) if rows else [()] * len(header)
    return pandas.DataFrame({name: _numbers(column) for name, column in zip(header, columns)})


def _numbers(cells):
    try:
        return [float(cell) if cell else float("nan") for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]
