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
