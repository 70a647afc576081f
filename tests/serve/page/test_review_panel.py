"""Review: doubtful pictures, confusable classes, and small copies of what was learned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser import EVERYWHERE, SCREENS, Open, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


@EVERYWHERE
def test_what_is_doubtful_is_reviewed(taught: Page, tmp_path: Path) -> None:
    top = [{"label": "flat", "confidence": 0.55}, {"label": "steep", "confidence": 0.45}]
    doubt = {**top[0], "unknown": 0.1, "top": top}
    taught.route("**/v1/predict*", lambda route: route.fulfill(json={"results": [doubt], "model_version": 1}))
    ask(taught, striped(tmp_path, 2, 1)[0])
    expect(taught.locator(".verdict .doubt")).to_have_text("Not sure. Perhaps")
    go(taught, "Review")
    expect(taught.locator("#doubtful button")).to_have_count(1)
    teach(taught, "level", striped(tmp_path, 0, seed=5))
    go(taught, "Review")
    expect(taught.locator("#pairs li").first).to_contain_text(re.compile("flat or level|level or flat"))
    expect(taught.locator("#tips li").first).to_contain_text("5 more of")
    expect(taught.locator("#review-panel")).to_contain_text("kept in this browser only")
    taught.reload()
    go(taught, "Review")
    taught.locator("#doubtful button").click()
    expect(taught.locator("#try-panel .picture")).to_be_visible()
    expect(taught.locator(".verdict .name")).to_have_text("flat")
    go(taught, "Review")
    taught.get_by_role("button", name="Put them away").click()
    expect(taught.locator("#doubtful button")).to_have_count(0)
    taught.get_by_role("button", name="Teach more of flat").click()
    expect(taught.get_by_label("What is it?")).to_have_value("flat")


@pytest.mark.parametrize("screen", SCREENS)
def test_classes_that_are_confused_are_seen_where_thumbnails_are_kept(visit: Open, tmp_path: Path, screen: str) -> None:
    page = visit(serve={"keep_thumbnails": True}, classes=2, **SCREENS[screen])
    go(page, "Teach")
    expect(page.locator("#teach-idle")).to_contain_text("small copies of the pictures")
    teach(page, "level", striped(tmp_path, 0, seed=5))
    go(page, "Review")
    expect(page.locator("#review-panel")).to_contain_text("the service keeps small copies beside the model")
    pair = page.locator("#pairs li").filter(has_text="level").first
    expect(pair.locator("img")).to_have_count(8)  # four of each class
    shown = "(image) => image.complete && image.naturalWidth > 0"
    assert all(image.evaluate(shown) for image in pair.locator("img").all())
    go(page, "Teach")
    page.locator(".lesson").get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    answer = page.request.get(f"{page.url.partition('#')[0]}v1/thumbnails/level").json()
    assert answer == {"thumbnails": []}  # they go with what they show
