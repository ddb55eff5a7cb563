"""Shows how far long work is: in notebooks as a bar of their own, else through tqdm where it is installed, else as plain lines."""

import html
import sys
import time


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
    if _in_notebook():
        return _Notebook(what)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(what)
    return _Tqdm(tqdm(total=total, desc=what, leave=False, unit_scale=True))


def _in_notebook():
    """Whether a kernel runs the code, which has more than text to show."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


class _Notebook:
    """A bar of HTML, which needs no widgets; it is gone when the work is done."""

    # Notebooks keep every update until they are saved.
    _PAUSE = 0.2

    def __init__(self, what):
        from IPython.display import HTML, display

        self._what, self._html = html.escape(what), HTML
        self._begun = self._shown = time.monotonic()
        self._handle = display(HTML(self._bar(0, 1)), display_id=True)

    def _bar(self, done, total):
        share = done / total if total else 0
        elapsed = time.monotonic() - self._begun
        left = f", about {elapsed / share * (1 - share):.0f} s left" if share > 0.02 else ""
        return f'<progress value="{done}" max="{total or 1}"></progress> {self._what}: {100 * share:.0f} %{left}'

    def show(self, done, total):
        now = time.monotonic()
        if now - self._shown >= self._PAUSE:
            self._shown = now
            self._handle.update(self._html(self._bar(done, total)))

    def close(self):
        self._handle.update(self._html(""))


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
