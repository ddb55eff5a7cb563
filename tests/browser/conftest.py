"""Opens reports in Debian's Chromium; skips, with the reason, where there is none."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
# The browser looks for nothing outside: no updates, no accounts, no first-run pages.
FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --force-color-profile=srgb""".split()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A report with every kind of block and with hostile names."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    example = Path(os.environ.get("SAMPLE_REPORT", target / "debug/examples/sample_report"))
    folder = tmp_path_factory.mktemp("report")
    subprocess.run([example, folder], check=True)
    return folder / "report.html"


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """Where pictures of pages go; TRUERANK_SCREENSHOTS names another place."""
    folder = Path(os.environ.get("TRUERANK_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    for program in (CHROMIUM, DRIVER):
        if not program.exists():
            pytest.skip(f"no {program}; on Debian: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=str(DRIVER))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


class Page:
    """A report in the browser, with what the browser said about it since it was opened."""

    def __init__(self, browser, path):
        self.browser = browser
        self.url = path.as_uri()
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(self.url)

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self):
        """Addresses that the page asked for, its own and what stands in the page itself left out."""
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        # The browser's own pages ask for their parts too.
        urls = [request["request"]["url"] for request in sent if request["documentURL"].split("#")[0] == self.url]
        return [url for url in urls if url.split("#")[0] != self.url and not url.startswith("data:")]

    def resize(self, width, height=900):
        # A window has a smallest width; what the page is told about the screen has none.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, theme):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def print(self, width=690):
        """Lays the page out as on A4 paper, whose margins leave this width."""
        self.resize(width)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})

    def choose(self, theme):
        """Presses the page's own button until it has this theme."""
        if self.theme() != theme:
            self.run("document.querySelector('.theme').click()")

    def theme(self):
        return "dark" if self.run("return getComputedStyle(document.documentElement).colorScheme") == "dark" else "light"

    def touch(self, x, y):
        """Taps a point of the window."""
        command = self.browser.execute_cdp_cmd
        command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        time.sleep(0.2)

    def picture(self, path):
        """The whole page, as long as it is."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return document.documentElement.clientWidth")
        self.resize(width, height)
        time.sleep(0.2)
        self.browser.save_screenshot(str(path))
        self.resize(width)


@pytest.fixture
def open_page(browser):
    """Opens a report at 1280 pixels, light."""

    def open_page(path):
        page = Page(browser, path)
        page.resize(1280)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.prefer("light")
        page.run("try { localStorage.clear() } catch {}; delete document.documentElement.dataset.theme")
        return page

    return open_page


@pytest.fixture
def page(open_page, sample):
    return open_page(sample)
