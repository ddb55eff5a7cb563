"""The pages that the program itself writes: the demo's, and an experiment's with learning curves."""

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed; tests/browser/requirements.txt has it")
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = """
questions = ["rq1", "rq2", "rq3", "rq4", "real"]
seeds = [1, 2]
sessions = 20000
models = ["linear"]
data.preset = "tiny"
rq2.sessions = [200, 2000, 200000]
rq4.sources = ["swap", "cpbm"]
real = { seeds = [1, 2], sessions = 4000, users = 150, queries = 600, features = 12, labelled = [20, 60] }
"""


def truerank(*arguments):
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    subprocess.run([Path(os.environ.get("TRUERANK", target / "debug/truerank")), "--quiet", *arguments], check=True)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    page = tmp_path_factory.mktemp("demo") / "report.html"
    truerank("demo", "--preset", "tiny", "--model", "linear", "--sessions", "2000", "--examination", "true", "--output", page)
    return page


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    config = folder / "experiment.toml"
    config.write_text(EXPERIMENT)
    truerank("experiment", "--config", config, "--output", folder / "results")
    return folder / "results" / "report.html"


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """Query texts and users that would be markup."""
    folder = tmp_path_factory.mktemp("fit")
    rows = ["user\tsession\tquery\tdoc\tposition\tclick\tscore"]
    for session in range(600):
        for place in range(5):
            doc = (session // 40 + place) % 5
            clicked = (session * 31 + place * 17) % 10 < 2 * (doc * 7 % 5) // (1 + place)
            query, user = f"<b>query {session % 40}</b>", f"<img src=x onerror=alert({session % 7})>"
            rows.append(f"{user}\t{session}\t{query}\td{doc}\t{place + 1}\t{int(clicked)}\t{doc * 7 % 5}")
    (folder / "log.tsv").write_text("\n".join(rows) + "\n")
    truerank("fit", folder / "log.tsv", "--feature", "score", "--output", folder / "out")
    return folder / "out" / "report.html"


@pytest.fixture(params=["demo", "experiment", "fit"])
def written(request):
    return request.param, request.getfixturevalue(request.param)


def show(page, selector):
    element = page.browser.find_element(By.CSS_SELECTOR, selector)
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    return element


def test_it_loads_nothing_and_nobody_complains(open_page, written):
    page = open_page(written[1])
    page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert page.requests() == []
    assert page.complaints() == []


@pytest.mark.parametrize("name", ["demo", "experiment"])
def test_the_main_table_sorts(open_page, name, request):
    page = open_page(request.getfixturevalue(name))
    show(page, "[data-name=rq1]")
    column = "return [...document.querySelectorAll('[data-name=rq1] tbody tr')].map(row => +row.cells[3].dataset.value)"
    page.browser.find_elements(By.CSS_SELECTOR, "[data-name=rq1] thead button")[3].click()
    values = page.run(column)
    assert len(values) == 9 and values == sorted(values, reverse=True)


def test_curves_say_their_values(open_page, demo, experiment):
    for path, figure, words in [
        (demo, "rq1-clicks", ["simulated log"]),
        (experiment, "rq2-linear", ["user-aware-smoothed", "ideal", "2,000"]),
    ]:
        page = open_page(path)
        ActionChains(page.browser).move_to_element(show(page, f"[data-name={figure}] .wide .probe")).perform()
        text = page.browser.find_element(By.CSS_SELECTOR, ".bubble").text
        assert all(word in text for word in words), text


@pytest.mark.parametrize("width", [1280, 390])
def test_pictures(open_page, written, screenshots, width):
    """For eyes, and never wider than the window."""
    name, path = written
    page = open_page(path)
    page.resize(width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    file = screenshots / f"{name}-{width}.png"
    page.picture(file)
    assert file.stat().st_size > 10_000
