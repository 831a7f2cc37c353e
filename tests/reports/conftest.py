"""A real browser for the tests of a module: headless Chromium, which fetches nothing by itself."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Browser:
    """One window, and what went on in it."""

    def __init__(self, driver: Chrome, folder: Path) -> None:
        self.driver = driver
        self._folder = folder
        self._number = 0

    def show(self, html: str, *, width: int = 1280, dark: bool = False) -> str:
        """Load a document from a file, and return the file's URL."""
        self._number += 1
        path = self._folder / f"{self._number}.html"
        path.write_text(html, encoding="utf-8")
        self.size(width)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.console()
        self.requests()
        self.driver.get(path.as_uri())
        return path.as_uri()

    def size(self, width: int) -> None:
        """Set the width of the viewport, CSS pixels."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str) -> Any:  # noqa: ANN401  whatever the script returns
        """Run a script in the page, which has none of its own."""
        return self.driver.execute_script(script)

    def console(self) -> list[str]:
        """Return what the console says since it was last asked."""
        return [entry["message"] for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """Return every URL that was asked for since it was last asked.

        The browser's own start page, which may still be loading at first, is left out.
        """
        events = [json.loads(one["message"])["message"] for one in self._log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
            and not event["params"]["documentURL"].startswith("chrome")
        ]

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for what the browser does when it gets round to it."""
        WebDriverWait(self.driver, timeout=20).until(lambda _: condition())

    def _log(self, kind: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.driver.execute("getLog", {"type": kind})["value"]
        return entries


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start Chromium with an empty profile."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.fail("chromium and chromedriver are not installed: make browser", pytrace=False)
    folder = tmp_path_factory.mktemp("browser")
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=ChromeService(executable_path=chromedriver))
    try:
        yield Browser(driver, folder)
    finally:
        driver.quit()
