"""Teach: pictures by every way, and what goes wrong with them."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, Route, expect

from tests.serve.browser import EVERYWHERE, Open, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


@EVERYWHERE
def test_a_picture_that_is_not_named_after_all_is_not_taught(taught: Page, tmp_path: Path) -> None:
    ask(taught, striped(tmp_path, 2, 1)[0])
    taught.get_by_label("Teach this as …").fill("wi")
    teach(taught, "flat", striped(tmp_path, 0, 2, seed=5))  # something else
    expect(taught.locator(".lesson").first.locator(".gain")).to_have_text("+2")
    taught.get_by_label("What is it?").fill("")
    taught.locator("#teach-files").set_input_files(striped(tmp_path, 2, 3))
    expect(taught.locator("#waiting-pictures img")).to_have_count(3)
    teach(taught, "flat", striped(tmp_path, 0, 1, seed=6))  # those that wait still do
    expect(taught.locator(".lesson").first.locator(".gain")).to_have_text("+1")
    expect(taught.locator("#waiting-pictures img")).to_have_count(3)
    taught.get_by_role("button", name="Discard them").click()
    expect(taught.locator("#waiting")).to_be_hidden()
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 15.pictures"))


@EVERYWHERE
def test_any_of_the_last_lessons_is_taken_back(taught: Page, tmp_path: Path) -> None:
    teach(taught, "wide", striped(tmp_path, 2, 20))  # more than one request has room for
    teach(taught, "flat", striped(tmp_path, 0, 2, seed=5))
    lessons = taught.locator(".lesson")
    lessons.nth(1).get_by_role("button", name="Undo").click()  # not the last one
    expect(lessons.nth(1)).to_contain_text("Taken back.")
    expect(lessons.nth(1).get_by_role("button", name="Undo")).to_be_hidden()
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 14.pictures"))
    lessons.first.get_by_role("button", name="Undo").click()
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    teach(taught, "flat", [*striped(tmp_path, 0), *striped(tmp_path, 0, 2, seed=6)])  # some are known
    lessons.first.get_by_role("button", name="Undo").click()  # and stay
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    teach(taught, "flat", striped(tmp_path, 0))
    expect(lessons.first.get_by_role("button", name="Undo")).to_be_hidden()


def test_pictures_wait_for_their_label(page: Page, tmp_path: Path) -> None:
    go(page, "Teach")
    page.locator("#teach-files").set_input_files(striped(tmp_path, 0))
    label = page.get_by_label("What is it?")
    expect(label).to_be_focused()
    expect(page.locator("#label-hint")).to_have_text("First say what it is.")
    expect(page.locator("#waiting-pictures img")).to_have_count(6)
    page.keyboard.type("flat")
    page.keyboard.press("Enter")
    expect(page.locator(".lesson .gain")).to_have_text("+6")
    expect(page.locator("#waiting")).to_be_hidden()


def test_a_picture_is_learned_once(taught: Page, tmp_path: Path) -> None:
    teach(taught, "flat", striped(tmp_path, 0))
    lesson = taught.locator(".lesson").first
    expect(lesson.locator(".gain")).to_have_text("+0")
    expect(lesson.locator(".progress")).to_contain_text("6 known already")
    teach(taught, "steep", striped(tmp_path, 0, 1))
    expect(lesson.locator(".left li")).to_contain_text("It was learned as flat")
    ask(taught, striped(tmp_path, 0, 1)[0])
    taught.get_by_title("Teach this as steep").click()  # put right, whatever it was before
    expect(taught.locator("#notice")).to_contain_text(re.compile("Learned 1.picture of steep"))
    go(taught, "Classes")
    expect(taught.locator("#rows tr").first).to_contain_text(re.compile(r"flat\s*5"))


def test_bad_files_are_named(page: Page, tmp_path: Path) -> None:
    notes, empty = tmp_path / "notes.txt", tmp_path / "empty.png"
    notes.write_text("not a picture")
    empty.touch()
    good = striped(tmp_path, 0, 2)
    teach(page, "flat", [good[0], notes, empty, good[1]])
    lesson = page.locator(".lesson").first
    expect(lesson.locator(".gain")).to_have_text("+2")
    expect(lesson.locator(".left li")).to_have_text([re.compile("notes.txt was left out"), re.compile("empty.png")])
    teach(page, "steep", [notes])
    expect(lesson.locator(".gain")).to_have_text("+0")
    expect(lesson.locator(".left li")).to_contain_text("notes.txt was left out")
    ask(page, notes)
    expect(page.locator("#try-trouble")).to_contain_text("notes.txt")


def test_a_huge_file_is_not_even_sent(page: Page, tmp_path: Path) -> None:
    huge = tmp_path / "huge.png"
    with huge.open("wb") as file:
        file.truncate(31 * 2**20)
    teach(page, "flat", [huge, *striped(tmp_path, 0)])
    expect(page.locator("#notice")).to_contain_text("huge.png is larger than 30 MB")
    expect(page.locator(".lesson .gain")).to_have_text("+6")


def test_folders_are_chosen_by_a_button(page: Page, tmp_path: Path) -> None:
    for kind, name in enumerate(["flat", "steep"]):
        striped(tmp_path / "chosen" / name, kind)
    go(page, "Teach")
    with page.expect_file_chooser() as chooser:
        page.locator("#teach-panel").get_by_role("button", name="Choose a folder").click()
    chooser.value.set_files(tmp_path / "chosen")
    expect(page.locator(".lesson h2")).to_have_text(["steep", "flat"])
    expect(page.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))


def test_dropped_folders_are_named_after_what_they_show(page: Page, tmp_path: Path) -> None:
    for kind, name in enumerate(["flat", "steep"]):
        striped(tmp_path / "drop" / name, kind)
    go(page, "Teach")
    box = page.locator("#teach-zone").bounding_box()
    assert box is not None
    where = {"x": box["x"] + 50, "y": box["y"] + 50}
    session = page.context.new_cdp_session(page)

    def drag(kind: str, path: Path) -> None:
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **where})

    drag("dragEnter", tmp_path / "drop")
    drag("dragOver", tmp_path / "drop")
    expect(page.locator("#teach-panel")).to_have_class("dragging")
    drag("drop", tmp_path / "drop")
    expect(page.locator(".lesson h2")).to_have_text(["steep", "flat"])
    expect(page.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    go(page, "Classes")  # takes nothing, and the page stays where it is
    for kind in ("dragEnter", "dragOver", "drop"):
        drag(kind, tmp_path / "drop" / "flat" / "stripes 0 0 0.png")
    go(page, "Teach")
    expect(page.locator(".lesson")).to_have_count(2)


def test_a_lost_answer_is_not_learned_twice(page: Page, tmp_path: Path) -> None:
    lost: list[str | None] = []

    def lose(route: Route) -> None:
        lost.append(route.request.header_value("Idempotency-Key"))
        if len(lost) == 1:
            route.fetch()  # the service has learned, but the page does not hear of it
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/learn", lose)
    teach(page, "flat", striped(tmp_path, 0))
    expect(page.locator(".lesson .gain")).to_have_text("+6")
    expect(page.locator("#status")).to_have_text(re.compile("1.class · 6.pictures"))
    assert len(lost) == 2
    assert lost[0] == lost[1]


def test_without_the_service_a_lesson_waits_and_goes_on(page: Page, tmp_path: Path) -> None:
    page.route("**/v1/learn", lambda route: route.abort())
    go(page, "Teach")
    page.get_by_label("What is it?").fill("flat")
    page.locator("#teach-files").set_input_files(striped(tmp_path, 0))
    expect(page.locator(".lesson .trouble")).to_contain_text("does not answer")
    page.unroute("**/v1/learn")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".lesson .gain")).to_have_text("+6")
    expect(page.locator(".lesson .trouble")).to_be_hidden()


def test_waits_politely_when_the_service_is_busy(visit: Open, tmp_path: Path) -> None:
    page = visit(serve={"rate": 20.0})
    refused = threading.Event()

    def flood() -> None:
        while not refused.is_set():
            try:
                urlopen(f"{page.url.partition('#')[0]}healthz").close()
            except HTTPError as error:
                error.close()

    page.on("response", lambda answer: refused.set() if answer.status == 429 else None)
    expect(page.locator("#status")).to_have_text(re.compile("0.classes"))
    others = threading.Thread(target=flood)
    others.start()
    try:
        page.wait_for_timeout(100)
        teach(page, "flat", striped(tmp_path, 0, 20))
    finally:
        refused.set()
        others.join()
    expect(page.locator(".lesson .gain")).to_have_text("+20")
