"""How calls behave: Ctrl-C, Python's lock, progress, threads, forks, and errors."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import truerank

LONG = "truerank.generate('yahoo', seed=1)"


def interrupted(program, after):
    """Starts a program that prints when it begins, interrupts it, and says how it ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().strip() == "begin"
    time.sleep(after)
    child.send_signal(signal.SIGINT)
    rest, errors = child.communicate(timeout=120)
    return child.returncode, rest, errors


def test_ctrl_c_stops_long_calls():
    program = (
        "import truerank\n"
        "print('begin', flush=True)\n"
        "try:\n"
        f"    {LONG}\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
        "print(truerank.generate('tiny'))\n"
    )
    code, text, errors = interrupted(program, after=1.0)
    assert code == 0, errors
    first, after = text.splitlines()
    assert first == "stopped" and after.startswith("<Splits: 200 queries")


def test_other_threads_go_on():
    """A call holds Python's lock for moments only."""
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    truerank.generate("small", seed=1)
    end = time.perf_counter()
    done.set()
    thread.join()
    during = [moment for moment in ticks if begin < moment < end]
    # Whoever holds the lock all the time lets nobody tick.
    assert len(during) > 10


def test_progress_calls_a_function():
    told = []
    truerank.generate("small", seed=1, progress=lambda *progress: told.append(progress))
    assert told and all(0 <= done <= total for _, done, total in told)
    assert {what for what, _, _ in told} == {"generating"}


def test_progress_shows_a_bar(capfd):
    truerank.generate("small", seed=1, progress=True)
    assert "generating" in capfd.readouterr().err


def test_plain_lines_without_tqdm(monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    truerank.generate("small", seed=1, progress=True)
    assert "generating …" in capfd.readouterr().err


def test_an_error_in_the_progress_function_stops_the_work():
    def broken(what, done, total):
        raise LookupError("no bar")

    with pytest.raises(LookupError, match="no bar"):
        truerank.generate("yahoo", seed=1, progress=broken)


def test_results_do_not_depend_on_threads():
    try:
        truerank.set_threads(1)
        one = truerank.generate("tiny", seed=3).train
        truerank.set_threads(3)
        three = truerank.generate("tiny", seed=3).train
    finally:
        truerank.set_threads(0)
    assert one == three


def _generate(seed):
    return truerank.generate("tiny", seed=seed).train.features.sum()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_forked_processes_have_their_own_threads():
    here = [_generate(seed) for seed in (1, 2)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map_async(_generate, (1, 2)).get(timeout=60)
    assert here == there


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError, match="^/nowhere/train.txt: no such file or folder$"):
        truerank.read_svmlight("/nowhere/train.txt")
    with pytest.raises(IsADirectoryError if os.name != "posix" else (IsADirectoryError, ValueError), match="folder"):
        truerank.read_dataset("/")


def test_bad_lines_are_value_errors(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("2 qid:1 1:0.5\n9 qid:1 1:0.25\n")
    with pytest.raises(ValueError) as error:
        truerank.read_svmlight(path)
    assert str(error.value) == f"{path}:2: grade is 9, but grades go from 0 to 4; pass max_grade 9 if that is right"


ODD = [None, 1, -1, 2**70, 1.5, float("nan"), "", "a", b"a", [], [None], [[]], {}, {"a": 1}, object(), np.zeros(0), np.zeros((2, 2)),
       np.array(["a", None], dtype=object), np.zeros((2, 2, 2)), np.array([1 + 2j]), np.datetime64("2024-01-01"), lambda: 1, type]


@pytest.mark.parametrize("function", [
    truerank.Dataset.from_arrays, truerank.read_svmlight, truerank.read_splits, truerank.generate, truerank.simulate,
    truerank.Counts.from_log, truerank.Counts.read, truerank.relevance, truerank.evaluate, truerank.doctor,
    truerank.paired_t_test, truerank.Propensities.from_arrays,
], ids=lambda function: function.__name__)
def test_odd_arguments_are_exceptions(function):
    """Nothing that is passed may end the interpreter or show a mistake of ours."""
    for first in ODD:
        for rest in [(), (first,), (None,), ([1],)]:
            try:
                function(first, *rest)
            except (TypeError, ValueError, OverflowError, OSError, KeyError, AttributeError):
                continue
