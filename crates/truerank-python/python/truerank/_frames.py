"""Frames of pandas, which is imported only where it is asked for."""


def dataset(data):
    """A row per document: query, doc, grade where there are grades, and features f1, f2, …"""
    import pandas

    names = [f"f{number}" for number in range(1, data.feature_count + 1)]
    frame = pandas.DataFrame(data.features, columns=names)
    frame.insert(0, "query", data.query)
    frame.insert(1, "doc", data.docs)
    if data.grades is not None:
        frame.insert(2, "grade", data.grades)
    return frame


def evaluation(found):
    """A row per query: query, and the value of each measure."""
    import pandas

    columns = {"query": found.queries, **{measure: found.per_query(measure) for measure in found}}
    return pandas.DataFrame(columns)


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
