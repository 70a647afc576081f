"""A real browser for the tests of the page, and what they do with it again and again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Playwright, expect

from tests.conftest import textures

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]

Open = Callable[..., Page]
"""Opens the page with settings of the window; ``serve`` has those of the service."""

PHONE = {"has_touch": True, "is_mobile": True}
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, **PHONE},
    "turned phone": {"viewport": {"width": 740, "height": 360}, "color_scheme": "dark", **PHONE},
}
"""Windows in which a person may use the page."""

EVERYWHERE = pytest.mark.parametrize("taught", SCREENS, indirect=True)
"""For what people expect of the page: it is there on every screen."""

OUTSIDE = """() => [...document.querySelectorAll("button, input, svg text")].filter((each) => {
  const box = each.closest("svg, li, .card, dialog, .tabs, body").getBoundingClientRect();
  const { left, right, width } = each.getBoundingClientRect();
  return width && (left < box.left - 14 || right > box.right + 14);
}).map((each) => each.textContent || each.id)"""
"""What sticks out of the box that it belongs to, by more than the wash of a bar."""

expect.set_options(timeout=30_000)  # of a busy machine; a quiet one needs a fraction of a second


def launch(playwright: Playwright) -> Browser:
    """The browser of this machine, with a camera that shows a moving pattern."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no browser: get one by `apt-get install chromium`, or put Chrome into the PATH")
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)


@contextmanager
def opened(browser: Browser, address: str, **settings: Any) -> Iterator[Page]:
    """The page in a window of its own; afterwards it must have kept the rules that hold for every test."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **settings)
    context.set_default_timeout(30_000)
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda line: broken.append(line.text) if "Content Security Policy" in line.text else None)
    page.on("dialog", lambda box: (broken.append(f"a script ran: {box.message}"), box.dismiss()))
    page.on("request", lambda sent: broken.append(sent.url) if not sent.url.startswith((address, "blob:")) else None)
    page.goto(address)
    yield page
    if not page.is_closed():
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "it is wider than the window"
        if page.locator("main").count():
            assert page.evaluate(OUTSIDE) == []
    context.close()
    assert not broken


def striped(folder: Path, kind: int, count: int = 6, seed: int = 0) -> list[Path]:
    """Pictures of one kind of stripes, as files."""
    images, labels = textures(count, seed=seed)
    chosen = [image for image, label in zip(images, labels, strict=True) if label == f"texture {kind}"]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"stripes {kind} {seed} {number}.png" for number in range(len(chosen))]
    for path, image in zip(paths, chosen, strict=True):
        Image.fromarray(image).resize((96, 96), Image.Resampling.NEAREST).save(path)
    return paths


def teach(page: Page, label: str, files: list[Path]) -> None:
    """Teaches a class by hand, and waits until it is learned."""
    page.get_by_role("tab", name="Teach").click()
    page.get_by_label("What is it?").fill(label)
    lessons = page.locator(".lesson")
    before = lessons.count()
    page.locator("#teach-files").set_input_files(files)
    expect(lessons).to_have_count(before + 1)
    expect(lessons.first).to_have_attribute("aria-busy", "false")


def go(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def ask(page: Page, *files: Path) -> None:
    go(page, "Try")
    page.locator("#try-files").set_input_files(files)
