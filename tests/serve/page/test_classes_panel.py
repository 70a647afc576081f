"""Classes: what is known, renamed, forgotten, taken back and taken away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from foro.backbones import Backbone
from foro.learner import Learner
from tests.conftest import textures
from tests.serve.browser import EVERYWHERE, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


@EVERYWHERE
def test_a_class_is_forgotten_and_brought_back(taught: Page) -> None:
    go(taught, "Classes")
    rows = taught.locator("#rows tr")
    expect(rows).to_have_count(2)
    before = rows.first.locator("td").all_inner_texts()
    assert before[0] == "6"
    for way in ("the notice", "the list"):
        taught.get_by_role("button", name="Forget flat").click()
        expect(rows).to_have_count(1)
        expect(taught.locator("#forgotten li")).to_have_count(1)
        taught.keyboard.press("Tab")
        expect(taught.locator(":focus")).to_have_count(1)  # the keyboard was not lost with the button
        undo = taught.locator("#notice" if way == "the notice" else "#forgotten").get_by_role("button", name="Undo")
        undo.click()
        expect(rows).to_have_count(2)
        expect(taught.locator("#forgotten")).to_be_hidden()
    assert rows.first.locator("td").all_inner_texts()[:2] == before[:2]


def test_classes_say_how_well_they_are_known(taught: Page, tmp_path: Path) -> None:
    teach(taught, "flat", striped(tmp_path, 0, seed=1))
    go(taught, "Classes")
    expect(taught.locator("#figure-classes")).to_have_text("2")
    expect(taught.locator("#figure-samples")).to_have_text("18")
    expect(taught.locator("#figure-accuracy")).to_have_text(re.compile(r"\d+.%"))
    expect(taught.get_by_role("img", name=re.compile("Accuracy went from .* to .* in"))).to_be_visible()
    expect(taught.locator("#rows time").first).to_have_text("just now")
    names = taught.locator("#rows th")
    expect(names).to_have_text(["flat", "steep"])
    for _ in range(2):
        taught.get_by_role("button", name="Class", exact=True).click()
    expect(names).to_have_text(["flat", "steep"])
    taught.get_by_role("button", name="Pictures", exact=True).click()
    expect(names).to_have_text(["steep", "flat"])
    taught.get_by_role("button", name="Teach more of steep").click()
    expect(taught.get_by_label("What is it?")).to_have_value("steep")


def test_classes_lead_to_teach_while_there_are_none(page: Page) -> None:
    go(page, "Classes")
    page.get_by_role("button", name="Teach the first class").click()
    expect(page.get_by_label("What is it?")).to_be_visible()


@EVERYWHERE
def test_it_can_be_taken_away(taught: Page, tmp_path: Path, tiny_backbone: Backbone) -> None:
    go(taught, "Classes")
    files = {}
    for name, ending in (("Model", "foro"), ("ONNX file", "onnx"), ("Report", "html")):
        with taught.expect_download() as download:
            taught.locator(".away").get_by_role("button", name=name, exact=True).click()
        assert download.value.suggested_filename == f"stripes.{ending}"
        files[ending] = download.value.path()
    assert Learner.load(files["foro"], tiny_backbone).labels == ["flat", "steep"]
    assert "steep" in files["html"].read_text(encoding="utf-8")
    other = Learner(tiny_backbone, policy="none", projection_dim=64)
    other.learn(*textures(2, seed=7))
    other.save(tmp_path / "other.foro")
    taught.locator("#merge-file").set_input_files(tmp_path / "other.foro")
    expect(taught.locator("#notice")).to_contain_text("Merged other.foro")
    expect(taught.locator("#rows tr")).to_have_count(6)
    taught.get_by_role("link", name="API").click()
    expect(taught.get_by_role("heading", name="API")).to_be_visible()


@EVERYWHERE
def test_a_class_is_renamed(taught: Page) -> None:
    go(taught, "Classes")
    taught.get_by_role("button", name="Rename flat").click()
    expect(taught.get_by_label("New name")).to_have_value("flat")
    taught.get_by_label("New name").fill("level")
    taught.keyboard.press("Enter")
    expect(taught.locator("#rows th")).to_have_text(["level", "steep"])
    taught.get_by_role("button", name="Rename steep").click()
    taught.get_by_role("button", name="Not now").click()
    taught.get_by_role("button", name="Rename steep").click()
    taught.get_by_label("New name").fill("level")
    taught.get_by_role("button", name="Rename", exact=True).click()
    expect(taught.locator("#rows th")).to_have_text(["level"])
    expect(taught.locator("#figure-samples")).to_have_text("12")


@EVERYWHERE
def test_any_change_is_taken_back(taught: Page, tmp_path: Path) -> None:
    ask(taught, striped(tmp_path, 0, 1, seed=9)[0])
    taught.get_by_title("Teach this as steep").click()  # by mistake
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 13.pictures"))
    taught.locator("#notice").get_by_role("button", name="Undo").click()
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))
    go(taught, "Classes")
    taught.get_by_role("button", name="Forget flat").click()
    expect(taught.locator("#rows tr")).to_have_count(1)
    lately = taught.locator("#undo li")
    expect(lately.first).to_contain_text("Forgot flat")
    expect(lately.nth(1)).to_contain_text(re.compile("Unlearned 1.picture of steep"))
    expect(lately.nth(3)).to_contain_text(re.compile("Learned 6.pictures of steep"))
    for classes, pictures in ((2, 12), (2, 13), (2, 12), (1, 6), (0, 0)):  # one change after the other
        taught.locator("#undo").get_by_role("button").click()
        expect(taught.locator("#status")).to_have_text(re.compile(rf"^{classes}.class(es)? · {pictures}.picture"))
        expect(taught.locator("#rows tr")).to_have_count(classes)
    expect(taught.locator("#classes-empty")).to_be_visible()
    expect(taught.locator("#undo")).to_be_hidden()


@EVERYWHERE
def test_a_second_tab_follows(taught: Page, tmp_path: Path) -> None:
    other = taught.context.new_page()
    other.goto(taught.url.partition("#")[0] + "#classes")
    expect(other.locator("#rows tr")).to_have_count(2)
    teach(taught, "wide", striped(tmp_path, 2))
    expect(other.locator("#rows tr")).to_have_count(3)
    expect(other.locator("#status")).to_have_text(re.compile("3.classes · 18.pictures"))


def test_a_lost_answer_takes_nothing_more_back(taught: Page) -> None:
    lost: list[str | None] = []

    def lose(route: Route) -> None:
        lost.append(route.request.header_value("Idempotency-Key"))
        if len(lost) == 1:
            route.fetch()  # the service has taken it back, but the page does not hear of it
            route.abort()
        else:
            route.continue_()

    taught.route("**/v1/undo", lose)
    go(taught, "Classes")
    taught.locator("#undo").get_by_role("button").click()
    expect(taught.locator("#notice")).to_contain_text("Taken back")
    expect(taught.locator("#status")).to_have_text(re.compile("1.class · 6.pictures"))
    assert len(lost) == 2
    assert lost[0] == lost[1]
