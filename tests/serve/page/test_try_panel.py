"""Try: pictures are judged, and an answer is put right."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.serve.browser import EVERYWHERE, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


def test_teaches_two_classes_and_tells_them_apart(page: Page, tmp_path: Path) -> None:
    expect(page.locator("#status")).to_have_text(re.compile("0.classes"))
    page.get_by_role("button", name="Teach it something").click()
    expect(page.get_by_role("heading", name="Teach it something")).to_be_visible()
    teach(page, "flat", striped(tmp_path, 0))
    lesson = page.locator(".lesson").first
    expect(lesson.locator(".gain")).to_have_text("+6")
    expect(lesson.locator(".progress")).to_contain_text(re.compile("6.pictures in all"))
    expect(page.get_by_text("One more class")).to_be_visible()
    teach(page, "steep", striped(tmp_path, 1))
    expect(page.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    expect(page.locator("#known option")).to_have_count(2)
    page.get_by_role("button", name="Try it").click()
    for kind, name in enumerate(["flat", "steep"]):
        ask(page, striped(tmp_path, kind, 1, seed=9)[0])
        expect(page.locator(".verdict .name")).to_have_text(name)
        expect(page.locator("#try-bars li")).to_have_count(2)
        expect(page.locator("#try-none")).to_contain_text("None of these")
        expect(page.locator("#announcement")).to_contain_text(name)


def test_several_pictures_are_judged_at_once(taught: Page, tmp_path: Path) -> None:
    files = [striped(tmp_path, kind, 1, seed=9)[0] for kind in (0, 1, 0)]
    ask(taught, *files)
    strip = taught.locator("#try-strip button")
    expect(strip).to_have_text(["flat", "steep", "flat"])
    strip.nth(1).click()
    expect(taught.locator(".verdict .name")).to_have_text("steep")
    expect(strip.nth(1)).to_have_attribute("aria-pressed", "true")


@EVERYWHERE
def test_a_wrong_answer_is_put_right(taught: Page, tmp_path: Path) -> None:
    ask(taught, striped(tmp_path, 2, 1)[0])
    taught.get_by_role("button", name="None of these").click()
    expect(taught.get_by_label("Teach this as …")).to_be_focused()
    taught.keyboard.type("wide")
    taught.keyboard.press("Enter")
    expect(taught.locator("#notice")).to_contain_text(re.compile("Learned 1.picture of wide"))
    expect(taught.locator("#status")).to_have_text(re.compile("3.classes · 13.pictures"))
    expect(taught.locator("#try-bars li")).to_have_count(3)  # the picture is still there, and judged anew
    expect(taught.locator(".verdict .name")).to_have_text("wide")


@EVERYWHERE
def test_a_tap_on_a_bar_teaches(taught: Page, tmp_path: Path) -> None:
    ask(taught, striped(tmp_path, 0, 1, seed=9)[0])
    taught.get_by_title("Teach this as flat").click()  # yes, it is
    expect(taught.locator("#notice")).to_contain_text(re.compile("Learned 1.picture of flat"))
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 13.pictures"))
    taught.get_by_title("Teach this as steep").focus()
    ask(taught, striped(tmp_path, 1, 1, seed=9)[0])
    expect(taught.locator(".verdict .name")).to_have_text("steep")
    taught.get_by_title("Teach this as steep").focus()
    taught.keyboard.press("Enter")
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 14.pictures"))
    go(taught, "Teach")
    expect(taught.locator(".lesson h2")).to_have_text(["steep", "flat"])


@EVERYWHERE
def test_what_is_none_of_them_is_said(taught: Page, tmp_path: Path) -> None:
    unknown = {"label": "flat", "confidence": 0.9, "unknown": 0.8}
    unknown["top"] = [{"label": "flat", "confidence": 0.9}, {"label": "steep", "confidence": 0.1}]  # type: ignore[assignment]
    taught.route("**/v1/predict*", lambda route: route.fulfill(json={"results": [unknown], "model_version": 1}))
    ask(taught, striped(tmp_path, 2, 1)[0])
    expect(taught.locator(".verdict .name")).to_have_text("None of these")
    expect(taught.locator("#try-none .number")).to_have_text(re.compile("80.%"))
    expect(taught.locator("#try-bars .number")).to_have_text([re.compile("18.%"), re.compile("2.%")])
    unknown["unknown"] = 0.49
    ask(taught, striped(tmp_path, 2, 1, seed=1)[0])
    expect(taught.locator(".verdict .doubt")).to_have_text("Perhaps none of these, or")
    expect(taught.locator(".verdict .name")).to_have_text("flat")


@EVERYWHERE
def test_a_whole_folder_is_judged_and_listed(taught: Page, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for seed in range(10, 14):
        for kind in (0, 1):
            striped(folder / "inside", kind, 10, seed)
    (folder / "=notes, odd.png").write_text("no picture")
    (folder / "readme.txt").write_text("is not even sent")
    go(taught, "Try")
    taught.locator("#try-panel .folder-files").set_input_files(folder)
    expect(taught.locator("#try-done")).to_have_text(re.compile("^81.pictures$"))
    strip = taught.locator("#try-strip button")
    expect(strip).to_have_count(81)  # all of them, not the first few
    expect(strip.filter(has_text="not read")).to_have_count(1)
    with taught.expect_download() as download:
        taught.get_by_role("button", name="Save the list (CSV)").click()
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 81
    assert {row["label"] for row in rows} == {"flat", "steep", ""}
    assert {row["file"].split("/")[1] for row in rows} == {"inside", "=notes, odd.png"}
    assert all(row["problem"] or 0 < float(row["confidence"]) <= 1 for row in rows)


@EVERYWHERE
def test_many_pictures_can_be_stopped(taught: Page, tmp_path: Path) -> None:
    asked: list[Route] = []

    def first_only(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.continue_()

    taught.route("**/v1/predict*", first_only)
    ask(taught, *striped(tmp_path, 0, 40, seed=9))
    expect(taught.locator("#try-done")).to_have_text(re.compile("16 of 40.pictures"))
    assert taught.locator("#try-progress").evaluate("(bar) => bar.value / bar.max") == 0.4
    taught.get_by_role("button", name="Stop", exact=True).click()
    expect(taught.locator("#try-done")).to_have_text(re.compile("Stopped after 16 of 40.pictures"))
    expect(taught.locator("#try-progress")).to_be_hidden()


def test_pictures_are_pasted(taught: Page) -> None:
    go(taught, "Try")
    taught.evaluate(
        """async () => {
          const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
          canvas.getContext("2d").fillRect(0, 0, 64, 20);
          const blob = await new Promise((resolve) => canvas.toBlob(resolve));
          await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
        }"""
    )
    taught.keyboard.press("Control+V")
    expect(taught.locator(".verdict .name")).to_be_visible()
