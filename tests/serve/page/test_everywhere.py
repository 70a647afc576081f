"""What holds on every panel: labels are text, tokens, the app, the language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from foro.serve.http.page_files import FOLDER
from tests.serve.browser import EVERYWHERE, SCREENS, Open, ask, go, striped, teach

pytestmark = pytest.mark.xdist_group("browser")

READ, TEACH = "a token that may read", "a token that may teach"
SCRIPT = "<img src=x onerror=alert(1)>"


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


@EVERYWHERE
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


@pytest.mark.parametrize("screen", SCREENS)
def test_it_is_told_in_the_language_of_the_browser(visit: Open, tmp_path: Path, screen: str) -> None:
    page = visit(locale="de-AT", **SCREENS[screen])
    expect(page.get_by_role("tab", name="Lehren")).to_be_visible()
    page.get_by_role("tab", name="Lehren").click()
    page.get_by_label("Was ist es?").fill("Flach")
    page.locator("#teach-files").set_input_files(striped(tmp_path, 0))
    expect(page.locator(".lesson .progress")).to_contain_text(re.compile("6.Bilder insgesamt"))
    expect(page.locator("#status")).to_have_text(re.compile("1.Klasse · 6.Bilder"))
    assert page.locator("html").get_attribute("lang") == "de"
    roomy = "(title) => title.clientWidth > title.closest('.lesson').clientWidth / " + (
        "2" if screen == "phone" else "4"
    )
    assert page.locator(".lesson h2").evaluate(roomy), "longer words leave room for the label"
    page.get_by_role("tab", name="Klassen").click()
    expect(page.locator("#rows time")).to_have_text("gerade eben")
    tops = page.locator("#rows .change button").evaluate_all("(all) => all.map((each) => each.offsetTop)")
    assert len(set(tops)) == 1, "what can be done stands in one line"


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


def test_an_address_leads_to_a_panel(page: Page) -> None:
    page.goto(f"{page.url.partition('#')[0]}#classes")
    expect(page.get_by_role("tab", name="Classes")).to_have_attribute("aria-selected", "true")
    assert page.evaluate("scrollY") == 0
