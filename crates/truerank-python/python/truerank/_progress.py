"""Shows how far long work is: through tqdm where it is installed, as plain lines otherwise."""

import sys


class Bar:
    """Called with what is done, how much of it, and how much there is."""

    def __init__(self):
        self._what = None
        self._bar = None

    def __call__(self, what, done, total):
        if what != self._what:
            self.close()
            self._what = what
            self._bar = _make(what, total)
        self._bar.show(done, total)

    def close(self):
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _make(what, total):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(what)
    return _Tqdm(tqdm(total=total, desc=what, leave=False, unit_scale=True))


class _Tqdm:
    def __init__(self, bar):
        self._bar = bar

    def show(self, done, total):
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self):
        self._bar.close()


class _Line:
    """A line per tenth of the work."""

    def __init__(self, what):
        self._what = what
        self._told = None

    def show(self, done, total):
        tenth = 10 * done // total if total else 0
        if tenth != self._told:
            self._told = tenth
            print(f"{self._what} … {10 * tenth} %", file=sys.stderr)

    def close(self):
        pass
