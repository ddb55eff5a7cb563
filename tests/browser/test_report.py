"""The report's page does in a browser what it promises: loads nothing, keeps text as text, sorts, points and fits."""

import time
import xml.etree.ElementTree

import pytest

# Where there is no selenium, `browser` skips; imports here must not fail before it can.
pytest.importorskip("selenium", reason="selenium is not installed; tests/browser/requirements.txt has it")
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

NDCG5 = 3
"""The column of nDCG@5 in the main table."""


def header(page, column=NDCG5):
    return page.browser.find_elements(By.CSS_SELECTOR, "[data-name=main] thead button")[column]


def rows(page):
    return page.run("return [...document.querySelectorAll('[data-name=main] tbody th')].map(cell => cell.textContent)")


def values(page, column):
    script = """return [...document.querySelectorAll('[data-name=main] tbody tr')]
                .map(row => row.cells[arguments[0]].dataset.value ?? null)"""
    return [None if value is None else float(value) for value in page.run(script, column)]


def bubble(page):
    found = page.browser.find_element(By.CSS_SELECTOR, ".bubble")
    return found.text if found.is_displayed() else None


def seen(page, selector):
    """An element in the middle of the window, after the page has noticed that it scrolled."""
    element = page.browser.find_element(By.CSS_SELECTOR, selector)
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    time.sleep(0.2)
    return element


def curves(page):
    return seen(page, "[data-name=learning-curves] .wide .probe")


def test_the_page_loads_nothing_and_nobody_complains(page):
    page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    ActionChains(page.browser).move_to_element(curves(page)).perform()
    assert page.requests() == []
    assert page.complaints() == []


def test_hostile_names_are_text(page):
    assert page.run("return document.querySelectorAll('img, iframe, object').length") == 0
    assert page.run("return document.querySelectorAll('script').length") == 1
    handlers = "return [...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/i.test(a.name)).length"
    assert page.run(handlers) == 0
    title = page.browser.find_elements(By.CSS_SELECTOR, "section h2")[-1].text
    assert title == "Hostile names: </script><img src=x onerror=alert(1)>"


def test_a_script_that_slips_in_does_not_run(page):
    """What escaping keeps out, the page's policy would keep from running."""
    page.run("""const element = document.createElement('div');
                element.innerHTML = '<img src="data:," onerror="document.title = `run`">';
                document.body.append(element)""")
    time.sleep(0.3)
    assert page.run("return document.title") != "run"
    assert any("Content Security Policy" in complaint for complaint in page.complaints())


def test_clicks_sort_both_ways_and_back(page):
    before = rows(page)
    seen(page, "[data-name=main]")
    header(page).click()
    assert values(page, NDCG5) == sorted(values(page, NDCG5), reverse=True)
    assert header(page).find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    header(page).click()
    assert values(page, NDCG5) == sorted(values(page, NDCG5))
    header(page).click()
    assert rows(page) == before
    assert header(page).find_element(By.XPATH, "..").get_attribute("aria-sort") is None


def test_keys_sort_and_empty_cells_come_last(page):
    p_value = len(page.browser.find_elements(By.CSS_SELECTOR, "[data-name=main] thead th")) - 1
    for key in (Keys.ENTER, Keys.SPACE):
        header(page, p_value).send_keys(key)
        assert values(page, p_value)[-2:] == [None, None]
        assert None not in values(page, p_value)[:-2]


def test_a_pointer_on_curves_reads_all_of_them(page):
    ActionChains(page.browser).move_to_element(curves(page)).perform()
    text = bubble(page)
    assert "100,000" in text
    for name in ("naive", "IPS-PBM", "user-aware, smoothed", "ideal"):
        assert name in text
    assert "(.6991 to .7048)" in text


def test_bubbles_stay_inside_a_narrow_window(page):
    page.resize(390)
    probe = seen(page, "[data-name=learning-curves] .narrow .probe")
    for offset in (-100, 0, 100):
        ActionChains(page.browser).move_to_element_with_offset(probe, offset, 0).perform()
        box = page.run("return document.querySelector('.bubble').getBoundingClientRect()")
        assert box["left"] >= 0 and box["right"] <= 390 and box["top"] >= 0 and box["bottom"] <= 900
        assert box["width"] > 250


def test_a_touch_reads_curves_until_the_next(page):
    probe = curves(page)
    script = "const box = arguments[0].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
    x, y = page.run(script, probe)
    page.touch(x, y)
    assert "100,000" in bubble(page)
    page.touch(5, y)
    assert bubble(page) is None


def test_arrow_keys_read_curves(page):
    probe = curves(page)
    page.run("arguments[0].focus()", probe)
    probe.send_keys(Keys.HOME)
    assert bubble(page).startswith("2,000")
    probe.send_keys(Keys.ARROW_RIGHT)
    assert bubble(page).startswith("5,000")
    probe.send_keys(Keys.ESCAPE)
    assert bubble(page) is None


def test_keys_of_the_legend_hide_series(page):
    key = page.browser.find_element(By.CSS_SELECTOR, "[data-name=learning-curves] .wide .key[data-name='naive']")
    probe = curves(page)
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    ActionChains(page.browser).move_to_element(probe).perform()
    assert "naive" not in bubble(page) and "IPS-PBM" in bubble(page)
    page.run("arguments[0].focus()", key)
    key.send_keys(Keys.ENTER)
    ActionChains(page.browser).move_by_offset(3, 0).move_to_element(probe).perform()
    assert "naive" in bubble(page)


def test_cells_of_a_heat_map_have_bubbles(page):
    cell = seen(page, "[data-name=clusters] .wide .tip")
    ActionChains(page.browser).move_to_element(cell).perform()
    assert bubble(page) == "c1, c1: .9000"


def test_the_theme_follows_the_system_until_it_is_chosen(page):
    background = "return getComputedStyle(document.documentElement).backgroundColor"
    light = page.run(background)
    page.prefer("dark")
    dark = page.run(background)
    assert dark != light
    page.browser.find_element(By.CSS_SELECTOR, ".theme").click()
    assert page.run(background) == light
    page.browser.find_element(By.CSS_SELECTOR, ".theme").click()
    page.prefer("light")
    assert page.run(background) == dark


def test_a_saved_figure_is_a_whole_drawing(page, tmp_path):
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    button = page.browser.find_element(By.CSS_SELECTOR, "[data-name=learning-curves] .save")
    page.run("arguments[0].click()", button)
    file = tmp_path / "learning-curves.svg"
    for _ in range(50):
        if file.exists():
            break
        time.sleep(0.1)
    drawing = xml.etree.ElementTree.parse(file).getroot()
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert ".c-s0" in file.read_text()
    assert "probe" not in file.read_text()


def test_figures_in_files_are_well_formed(sample):
    files = sorted((sample.parent / "figures").glob("*.svg"))
    assert len(files) > 10
    for file in files:
        xml.etree.ElementTree.parse(file)


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
def test_the_page_never_scrolls_sideways(page, width):
    page.resize(width)
    page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_wide_tables_scroll_in_their_own_box_below_a_fixed_first_column(page):
    page.resize(390)
    box = page.browser.find_element(By.CSS_SELECTOR, "[data-name=main] .scroll")
    left = "return document.querySelector('[data-name=main] tbody th').getBoundingClientRect().left"
    before = page.run(left)
    page.run("arguments[0].scrollLeft = 200", box)
    assert page.run("return arguments[0].scrollLeft", box) == 200
    assert page.run(left) == before


def test_labels_stay_inside_their_figures(page):
    script = """
        const outside = [];
        for (const svg of document.querySelectorAll('svg.chart')) {
            if (svg.getClientRects().length === 0) continue;
            const frame = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll('text')) {
                const box = text.getBoundingClientRect();
                if (box.width && (box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2))
                    outside.push(svg.closest('figure').dataset.name + ': ' + text.textContent);
            }
        }
        return outside"""
    for width in (390, 1280):
        page.resize(width)
        page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
        assert page.run(script) == []


def test_paper_gets_wide_drawings_and_headers_that_repeat(page):
    page.print()
    shown = "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length).length"
    assert page.run(shown, ".canvas.wide") > 3
    assert page.run(shown, ".canvas.narrow") == 0
    # Chromium leaves boxes of buttons out of headers that it repeats on the next page.
    displays = "return [...new Set([...document.querySelectorAll('th button')].map(e => getComputedStyle(e).display))]"
    assert page.run(displays) == ["contents"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pictures(page, screenshots, width, theme):
    """For eyes: the whole page at two widths in both themes."""
    page.resize(width)
    page.choose(theme)
    file = screenshots / f"report-{width}-{theme}.png"
    page.picture(file)
    assert file.stat().st_size > 10_000
