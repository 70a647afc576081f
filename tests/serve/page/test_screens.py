"""The page on every screen: phones, light and dark, by keyboard, without motion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.serve.browser import Open, ask, striped, teach

pytestmark = pytest.mark.xdist_group("browser")


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
        crossing = """(svg) => {
          const texts = [...svg.querySelectorAll("text")].slice(-3, -1);
          const [from, to] = texts.map((each) => each.getBoundingClientRect());
          return from.right > to.left;
        }"""
        assert not page.locator("#chart svg").evaluate(crossing), "the first and the last moment"
        outside = "(svg) => [...svg.querySelectorAll('text')].filter((text) => { const [a, b] = [text, svg]"
        outside += (
            ".map((each) => each.getBoundingClientRect()); return a.left < b.left || a.right > b.right; }).length"
        )
        assert page.locator("#chart svg").evaluate(outside) == 0


@pytest.mark.parametrize("locale", ["en-GB", "de-AT"])
def test_names_of_classes_are_not_broken(visit: Open, locale: str) -> None:
    page = visit(classes=2, locale=locale)
    page.locator("#tab-classes").click()
    expect(page.locator("#rows th")).to_have_count(2)
    lines = """() => [...document.querySelectorAll("#rows th")].map((name) => {
      const range = document.createRange();
      range.selectNodeContents(name);
      return range.getClientRects().length;
    })"""
    for width in (320, 740, 770, 844, 932, 1024, 1060, 1100, 1280):
        page.set_viewport_size({"width": width, "height": 500})
        assert page.evaluate(lines) == [1, 1], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


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


def _luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
