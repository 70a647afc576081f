"""The page, used as a person uses it: a real browser and the real service behind it."""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from foro.backbones import Backbone

pytest.importorskip("fastapi", reason='needs the serve extra: pip install "foro[serve]"')
pytest.importorskip("playwright.sync_api", reason='needs playwright: pip install "foro[dev]"')

from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from foro.learner import Learner
from foro.serve.http.page_files import FOLDER
from tests.conftest import textures
from tests.serve.browser import launch, opened, striped, teach
from tests.serve.running import running

pytestmark = pytest.mark.xdist_group("browser")

READ, TEACH = "a token that may read", "a token that may teach"
SCRIPT = "<img src=x onerror=alert(1)>"

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        browser = launch(started)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, tmp_path: Path, tiny_backbone: Backbone) -> Iterator[Open]:
    """Opens the page of a service that knows nothing; settings of the window, and in ``serve`` of the service."""
    with ExitStack() as stack:

        def visit(serve: dict[str, Any] | None = None, **window: Any) -> Page:
            client, _ = stack.enter_context(running(tmp_path, tiny_backbone, **(serve or {})))
            return stack.enter_context(opened(browser, str(client.base_url), **window))

        yield visit


@pytest.fixture
def page(visit: Open) -> Page:
    return visit()


@pytest.fixture
def taught(page: Page, tmp_path: Path) -> Page:
    """A page whose service knows two classes."""
    for kind, name in enumerate(["flat", "steep"]):
        teach(page, name, striped(tmp_path, kind))
    return page


def go(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def ask(page: Page, *files: Path) -> None:
    go(page, "Try")
    page.locator("#try-files").set_input_files(files)


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
    expect(taught.locator(".lesson h2")).to_have_text(["steep", "flat", "steep", "flat"])


def test_what_is_none_of_them_is_said(taught: Page, tmp_path: Path) -> None:
    unknown = {"label": "flat", "confidence": 0.9, "unknown": 0.8}
    unknown["top"] = [{"label": "flat", "confidence": 0.9}, {"label": "steep", "confidence": 0.1}]  # type: ignore[assignment]
    taught.route("**/v1/predict*", lambda route: route.fulfill(json={"results": [unknown], "model_version": 1}))
    ask(taught, striped(tmp_path, 2, 1)[0])
    expect(taught.locator(".verdict .name")).to_have_text("None of these")
    expect(taught.locator("#try-none .number")).to_have_text(re.compile("80.%"))
    expect(taught.locator("#try-bars .number")).to_have_text([re.compile("18.%"), re.compile("2.%")])


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


def test_a_label_is_text_never_html(page: Page, tmp_path: Path) -> None:
    teach(page, SCRIPT, striped(tmp_path, 0))
    teach(page, "a/b & c?#%", striped(tmp_path, 1))
    expect(page.locator(".lesson h2")).to_have_text(["a/b & c?#%", SCRIPT])
    ask(page, striped(tmp_path, 0, 1, seed=9)[0])
    expect(page.locator(".verdict .name")).to_have_text(SCRIPT)
    go(page, "Classes")
    for name in (SCRIPT, "a/b & c?#%"):
        expect(page.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
        page.get_by_role("button", name=f"Forget {name}", exact=True).click()
        expect(page.locator("#forgotten li span")).to_have_text(name)
        page.locator("#forgotten button").click()
        expect(page.locator("#forgotten")).to_be_hidden()
    assert page.locator("img[src=x]").count() == 0


def test_a_token_is_asked_for(visit: Open, tmp_path: Path) -> None:
    page = visit(serve={"read_token": READ, "teach_token": TEACH})
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("private")
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    page.keyboard.type("a wrong token, alas")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("not accepted")
    page.get_by_role("button", name="Not now").click()
    expect(page.locator("#status")).to_have_text("A token is needed.")
    page.get_by_role("button", name="Try again").click()
    page.get_by_label("Token", exact=True).fill(READ)
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text(re.compile("0.classes"))
    go(page, "Teach")
    page.get_by_label("What is it?").fill("flat")
    page.locator("#teach-files").set_input_files(striped(tmp_path, 0))
    expect(dialog).to_contain_text("not teach")
    page.get_by_label("Token", exact=True).fill(TEACH)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".lesson .gain")).to_have_text("+6")
    page.reload()  # the tab remembers
    expect(page.locator("#status")).to_have_text(re.compile("1.class · 6.pictures"))
    assert page.evaluate("Object.keys(localStorage).length") == 0


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


def test_only_the_keyboard_is_needed(page: Page, tmp_path: Path) -> None:
    files = striped(tmp_path, 0)
    page.on("filechooser", lambda chooser: chooser.set_files(files))
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Try")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Teach")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    page.keyboard.type("flat")
    page.keyboard.press("Enter")
    expect(page.locator("#teach-zone")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".lesson .gain")).to_have_text("+6")
    expect(page.locator("#announcement")).to_contain_text(re.compile("Learned 6.pictures of flat"))


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


def test_folders_are_chosen_by_a_button(page: Page, tmp_path: Path) -> None:
    for kind, name in enumerate(["flat", "steep"]):
        striped(tmp_path / "chosen" / name, kind)
    go(page, "Teach")
    with page.expect_file_chooser() as chooser:
        page.locator("#teach-panel").get_by_role("button", name="Choose a folder").click()
    chooser.value.set_files(tmp_path / "chosen")
    expect(page.locator(".lesson h2")).to_have_text(["steep", "flat"])
    expect(page.locator("#status")).to_have_text(re.compile("2.classes · 12.pictures"))


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
    expect(lately.nth(1)).to_contain_text(re.compile("Learned 6.pictures of steep"))
    for left in (2, 1, 0):  # the forgetting, and then both lessons
        taught.locator("#undo").get_by_role("button").click()
        expect(taught.locator("#rows tr")).to_have_count(left)
    expect(taught.locator("#classes-empty")).to_be_visible()
    expect(taught.locator("#undo")).to_be_hidden()


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


def test_it_is_an_app_that_keeps_its_own_files_only(taught: Page) -> None:
    taught.evaluate("navigator.serviceWorker.ready")
    taught.reload()
    expect(taught.locator("#status")).to_have_text(re.compile("2.classes"))
    kept = "async () => (await (await caches.open('foro-page')).keys()).map((each) => new URL(each.url).pathname)"
    names = set(taught.evaluate(kept))
    assert {"/", "/static/app.js", "/static/style.css"} <= names
    assert all(name == "/" or name.startswith("/static/") for name in names)
    session = taught.context.new_cdp_session(taught)
    manifest = session.send("Page.getAppManifest")
    assert manifest["errors"] == []
    assert '"name": "FoRo"' in manifest["data"]


def test_it_is_told_in_the_language_of_the_browser(visit: Open, tmp_path: Path) -> None:
    page = visit(locale="de-AT")
    expect(page.get_by_role("tab", name="Lehren")).to_be_visible()
    page.get_by_role("tab", name="Lehren").click()
    page.get_by_label("Was ist es?").fill("Flach")
    page.locator("#teach-files").set_input_files(striped(tmp_path, 0))
    expect(page.locator(".lesson .progress")).to_contain_text(re.compile("6.Bilder insgesamt"))
    expect(page.locator("#status")).to_have_text(re.compile("1.Klasse · 6.Bilder"))
    assert page.locator("html").get_attribute("lang") == "de"
    page.get_by_role("tab", name="Klassen").click()
    expect(page.locator("#rows time")).to_have_text("gerade eben")


def test_every_word_of_the_page_has_its_translation() -> None:
    words = re.findall(r'^  (?:"([^"]+)"|(\w+)): ', (FOLDER / "german.js").read_text("utf-8"), re.M)
    used = set()
    for path in FOLDER.glob("*.js"):
        text = path.read_text("utf-8")
        used |= set(re.findall(r'\bt\("([^"]+)"', text))
        used |= {each for both in re.findall(r'\bt\([^()"]*\? "([^"]+)" : "([^"]+)"', text) for each in both}
        used |= set(re.findall(r'\bcount\(.*?, "(\w+)"', text))
    page = (FOLDER / "index.html").read_text("utf-8").partition("<body>")[2]
    used |= set(re.findall(r'(?:aria-label|placeholder|title)="([^"]+)"', page))
    used |= {text.strip() for text in re.findall(r">([^<>]+)<", page) if re.search("[A-Za-z]", text)}
    assert len(used) > 100
    assert used - {one or other for one, other in words} == {"FoRo"}


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


def test_fits_a_phone(visit: Open, tmp_path: Path) -> None:
    page = visit(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    teach(page, "a-label-that-goes-on-and-on-without-a-single-space-in-it-for-very-long", striped(tmp_path, 0))
    teach(page, "steep", [*striped(tmp_path, 1), *striped(tmp_path, 1, seed=1)])
    ask(page, *striped(tmp_path, 0, 6, seed=9))
    expect(page.locator(".verdict .name")).to_be_visible()
    for name in ("Try", "Teach", "Review", "Classes"):
        page.get_by_role("tab", name=name).tap()
        expect(page.get_by_role("tabpanel")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
    for name in ("Teach more of steep", "Forget steep"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert box["height"] >= 38, "large enough for a thumb"


@pytest.mark.parametrize("width", [320, 360])
def test_a_turned_phone_is_filled_both_ways(visit: Open, tmp_path: Path, width: int) -> None:
    page = visit(viewport={"width": 740, "height": width}, has_touch=True, is_mobile=True)
    for seed in range(2):
        for kind, name in enumerate(["flat", "steep"]):
            teach(page, name, striped(tmp_path, kind, seed=seed))
    ask(page, *striped(tmp_path, 0, 6, seed=9))
    for size in ({"width": width, "height": 740}, {"width": 740, "height": width}, {"width": width, "height": 740}):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        for name in ("Try", "Teach", "Review", "Classes"):
            page.get_by_role("tab", name=name).tap()
            expect(page.get_by_role("tabpanel")).to_have_count(1)
            page.wait_for_timeout(100)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        for box in page.locator("#chart, #classes-panel .card").all():
            assert box.evaluate("(element) => element.getBoundingClientRect().right") <= size["width"]
        outside = "(svg) => [...svg.querySelectorAll('text')].filter((text) => { const [a, b] = [text, svg]"
        outside += (
            ".map((each) => each.getBoundingClientRect()); return a.left < b.left || a.right > b.right; }).length"
        )
        assert page.locator("#chart svg").evaluate(outside) == 0


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


def test_a_second_tab_follows(taught: Page, tmp_path: Path) -> None:
    other = taught.context.new_page()
    other.goto(taught.url.partition("#")[0] + "#classes")
    expect(other.locator("#rows tr")).to_have_count(2)
    teach(taught, "wide", striped(tmp_path, 2))
    expect(other.locator("#rows tr")).to_have_count(3)
    expect(other.locator("#status")).to_have_text(re.compile("3.classes · 18.pictures"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(visit: Open, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    colours = "(element) => [getComputedStyle(element).color, getComputedStyle(element).backgroundColor]"
    ink, paper = (_luminance(colour) for colour in page.locator("body").evaluate(colours))
    assert (ink > paper) == (scheme == "dark")
    assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7


def test_no_motion_for_those_who_want_none(visit: Open, tmp_path: Path) -> None:
    page = visit(reduced_motion="reduce")
    for kind, name in enumerate(["flat", "steep"]):
        teach(page, name, striped(tmp_path, kind))
    for kind in (0, 1):
        ask(page, striped(tmp_path, kind, 1, seed=9)[0])
        expect(page.locator(".verdict .name")).to_have_text(["flat", "steep"][kind])
        assert page.evaluate("document.getAnimations().length") == 0


def test_an_address_leads_to_a_panel(page: Page) -> None:
    page.goto(f"{page.url.partition('#')[0]}#classes")
    expect(page.get_by_role("tab", name="Classes")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("scrollY") == 0


def _luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
