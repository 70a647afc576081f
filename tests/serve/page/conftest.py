"""The page of a service, in a real browser: used as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from foro.backbones import Backbone
from tests.serve.browser import SCREENS, Open, launch, opened, striped
from tests.serve.running import learn, running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        browser = launch(started)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, tmp_path: Path, tiny_backbone: Backbone) -> Iterator[Open]:
    """Opens the page of a service that knows as many classes as asked; settings of the window and of the service."""
    with ExitStack() as stack:

        def visit(serve: dict[str, Any] | None = None, classes: int = 0, **window: Any) -> Page:
            client, _ = stack.enter_context(running(tmp_path, tiny_backbone, **(serve or {})))
            for kind, name in enumerate(["flat", "steep"][:classes]):
                assert learn(client, name, [path.read_bytes() for path in striped(tmp_path, kind)]).is_success
            return stack.enter_context(opened(browser, str(client.base_url), **window))

        yield visit


@pytest.fixture
def page(visit: Open) -> Page:
    return visit()


@pytest.fixture
def taught(visit: Open, request: pytest.FixtureRequest) -> Page:
    """A page whose service knows two classes, on the screen that a test asks for."""
    page = visit(classes=2, **SCREENS[getattr(request, "param", "light")])
    expect(page.locator("#status")).to_contain_text("12")
    return page
