"""The camera: live answers, and a lesson as long as a button is held."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser import EVERYWHERE, go

pytestmark = pytest.mark.xdist_group("browser")


@EVERYWHERE
def test_the_camera_is_judged_live(taught: Page) -> None:
    go(taught, "Try")
    answers: list[int] = []
    taught.on("response", lambda answer: answers.append(answer.status) if "/v1/predict" in answer.url else None)
    taught.locator("#try-panel").get_by_role("button", name="Use the camera", exact=True).click()
    expect(taught.locator(".verdict .name")).to_be_visible()
    while len(answers) < 4:
        taught.wait_for_timeout(50)
    taught.get_by_role("button", name="Stop the camera").click()
    expect(taught.locator("#try-zone")).to_be_visible()
    expect(taught.locator("#try-answer")).to_be_hidden()
    assert set(answers) == {200}


@EVERYWHERE
def test_a_bar_that_is_held_teaches_what_the_camera_sees(taught: Page) -> None:
    taught.locator("#try-panel").get_by_role("button", name="Use the camera", exact=True).click()
    bar = taught.get_by_title("Teach this as flat")
    bar.hover()
    taught.mouse.down()
    expect(taught.locator("#try-ask")).to_contain_text(re.compile("[3-9].pictures of flat"))
    taught.mouse.up()
    notice = taught.locator("#notice")
    expect(notice).to_contain_text(re.compile("Learned ([3-9]|[1-9][0-9]).pictures of flat"))
    expect(taught.locator("#status")).not_to_contain_text("12")
    notice.get_by_role("button", name="Undo").click()  # all of them, however many requests they took
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))


@EVERYWHERE
def test_a_part_of_what_the_camera_sees_is_judged(taught: Page) -> None:
    taught.evaluate(
        """() => {
          const send = fetch;
          window.fetch = async (path, options) => {
            const frame = options.body?.get("images");
            if (frame) window.side = (await createImageBitmap(frame)).width;
            return send(path, options);
          };
        }"""
    )
    panel = taught.locator("#try-panel")
    panel.get_by_role("button", name="Use the camera", exact=True).click()
    expect(taught.locator(".verdict .name")).to_be_visible()
    video = panel.locator("video")
    whole = video.evaluate("(video) => Math.min(video.videoWidth, video.videoHeight)")
    panel.get_by_label("Closer").fill("4")
    taught.wait_for_function("(side) => window.side === side", arg=round(whole / 4))
    places = {video.evaluate("(video) => video.style.transform")}
    video.focus()
    taught.keyboard.press("ArrowUp")
    places.add(video.evaluate("(video) => video.style.transform"))
    panel.locator(".camera").hover()
    box = panel.locator(".camera").bounding_box()
    assert box is not None
    taught.mouse.down()
    taught.mouse.move(box["x"] + box["width"] / 2 + 30, box["y"] + box["height"] / 2 + 20)
    taught.mouse.up()
    places.add(video.evaluate("(video) => video.style.transform"))
    assert len(places) == 3


def test_one_frame_does_not_change_the_answer(taught: Page) -> None:
    told = taught.evaluate(
        """async () => {
          const { Steady } = await import("./static/steady.js");
          const steady = new Steady();
          const sight = (a) => [{ label: "a", confidence: a }, { label: "b", confidence: 1 - a }];
          const add = (number, a) => steady.add({ top: sight(a), unknown: 0.1 }, 100 * number).label;
          const odd = (number) => [5, 9].includes(number) || number >= 14;
          return [...Array(24).keys()].map((number) => add(number, odd(number) ? 0.2 : 0.8)).join("");
        }"""
    )
    assert re.fullmatch("a{14}a{2,6}b+", told), "one odd frame does not show, a new sight does after a moment"


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
    page.locator("#teach-panel").get_by_role("button", name="Use the camera", exact=True).click()
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
