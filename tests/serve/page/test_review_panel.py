"""Review: doubtful pictures, confusable classes, and small copies of what was learned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser import ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


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
