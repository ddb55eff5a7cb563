"""Pickles of what has a file form of its own: counts are a folder, the others one file."""

import tempfile
from pathlib import Path

# Relevance is read as what its ending says.
_NAME = "content.parquet"


def files(thing):
    """The names and bytes of what `write` writes; a single file has no name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        thing.write(path)
        if path.is_file():
            return {"": path.read_bytes()}
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def restore(kind, parts):
    """What `files` took apart."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        for name, content in parts.items():
            if name:
                path.mkdir(exist_ok=True)
            (path / name if name else path).write_bytes(content)
        return kind.read(path)


def simulation(data, scores, options):
    """A simulation that shows documents in the order of these scores."""
    import numpy

    from ._truerank import simulate

    return simulate(data, loggers=[numpy.asarray(of_logger) for of_logger in scores], **options)
