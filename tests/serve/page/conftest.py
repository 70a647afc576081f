"""The page of a service, in a real browser: used as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from foro.backbones import Backbone
from tests.serve.browser import Open, launch, opened, striped, teach
from tests.serve.running import running


@pytest.fixture(scope="package")
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
