"""The camera: live answers, and a lesson as long as a button is held."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser import go

pytestmark = pytest.mark.xdist_group("browser")


def test_the_camera_is_judged_live(taught: Page) -> None:
    go(taught, "Try")
    answers: list[int] = []
    taught.on("response", lambda answer: answers.append(answer.status) if "/v1/predict" in answer.url else None)
    taught.locator("#try-panel").get_by_role("button", name="Use the camera").click()
    expect(taught.locator(".verdict .name")).to_be_visible()
    while len(answers) < 4:
        taught.wait_for_timeout(50)
    taught.get_by_role("button", name="Stop the camera").click()
    expect(taught.locator("#try-zone")).to_be_visible()
    expect(taught.locator("#try-answer")).to_be_hidden()
    assert set(answers) == {200}


def test_live_rows_stay_where_they_are(taught: Page) -> None:
    rows = taught.evaluate(
        """async () => {
          const { showBars } = await import("./static/bars.js");
          const list = document.createElement("ol");
          const show = (...shares) => {
            showBars(list, shares.map(([label, confidence]) => ({ label, confidence })), true);
            return [...list.children].map((row) => row.label + (row.classList.contains("best") ? "!" : "")).join(" ");
          };
          return [show(["a", 0.6], ["b", 0.4]), show(["b", 0.7], ["a", 0.3]), show(["c", 0.5], ["a", 0.3])];
        }"""
    )
    assert rows == ["a! b", "a b!", "a c!"]


def test_the_camera_teaches_while_the_button_is_held(page: Page) -> None:
    go(page, "Teach")
    page.locator("#teach-panel").get_by_role("button", name="Use the camera").click()
    button = page.get_by_role("button", name="Hold to teach")
    button.hover()
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_label("What is it?")).to_be_focused()  # it has no name yet
    page.keyboard.type("pattern")
    gain = page.locator(".lesson").first.locator(".gain")

    page.locator("#burst").hover()
    page.mouse.down()
    expect(gain).to_have_text(re.compile(r"\+([3-9]|\d\d)"))
    page.mouse.up()
    expect(page.locator(".lesson").first).to_have_attribute("aria-busy", "false")
    first = int(gain.inner_text())
    page.wait_for_timeout(400)
    assert int(gain.inner_text()) == first

    button.focus()
    page.keyboard.down("Space")
    expect(page.locator(".lesson")).to_have_count(2)
    expect(gain).to_have_text(re.compile(r"\+([3-9]|\d\d)"))
    page.keyboard.up("Space")
    expect(page.locator(".lesson").first).to_have_attribute("aria-busy", "false")
    total = first + int(gain.inner_text())
    expect(page.locator("#label-hint")).to_have_text(re.compile(rf"learned {total}.pictures"))

    go(page, "Classes")  # to leave turns the camera off
    go(page, "Teach")
    expect(page.locator("#teach-zone")).to_be_visible()
