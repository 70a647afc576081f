"""What axe-core finds on every panel, as it is when a person has used it: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.serve.browser import EVERYWHERE, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


def check(page: Page, what: str) -> None:
    """Looks when colours have stopped to change: half-way between two, they have too little contrast."""
    page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    found = Axe().run(page)
    assert not found.violations_count, f"{what}: {found.generate_report()}"


@EVERYWHERE
def test_axe_finds_nothing(taught: Page, tmp_path: Path) -> None:
    for name in ("Try", "Teach", "Review", "Classes"):
        go(taught, name)
        check(taught, name)
    ask(taught, *striped(tmp_path, 2, 3))
    expect(taught.locator(".verdict .name")).to_be_visible()
    check(taught, "an answer, and several pictures")
    taught.get_by_title("Teach this as flat").click()
    expect(taught.locator("#notice")).to_contain_text("Learned")
    check(taught, "a notice")
    teach(taught, "wide", striped(tmp_path, 2, 4, seed=1))
    taught.get_by_label("What is it?").fill("")
    taught.locator("#teach-files").set_input_files(striped(tmp_path, 1, 2, seed=1))
    expect(taught.locator("#waiting")).to_be_visible()
    check(taught, "a lesson, and pictures that wait for their label")
    taught.get_by_role("button", name="Discard them").click()
    go(taught, "Review")
    expect(taught.locator("#tips li, #pairs li, #tips-none:not([hidden])").first).to_be_visible()
    check(taught, "tips, and what is confused")
    go(taught, "Classes")
    expect(taught.locator("#chart svg")).to_be_visible()
    taught.get_by_role("button", name="Forget wide").click()
    expect(taught.locator("#forgotten")).to_be_visible()
    check(taught, "classes, the curve, what was changed and forgotten")
    taught.get_by_role("button", name="Rename flat").click()
    check(taught, "a dialog")
    taught.get_by_role("button", name="Not now").click()
    for panel in ("Try", "Teach"):
        go(taught, panel)
        taught.locator(f"#{panel.lower()}-panel").get_by_role("button", name="Use the camera", exact=True).click()
        expect(taught.locator(f"#{panel.lower()}-panel video")).to_be_visible()
        check(taught, f"the camera of {panel}")
    taught.goto(f"{taught.url.partition('#')[0]}docs")
    check(taught, "the reference")
