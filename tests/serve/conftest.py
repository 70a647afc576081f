"""A service that knows three kinds of stripes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from foro.backbones import Backbone
from foro.serve.work.service import Service
from tests.serve.running import running, teach_all


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Backbone) -> Iterator[tuple[httpx.Client, Service]]:
    """A client and its service, taught three classes; for tests that leave it as it was."""
    with running(tmp_path_factory.mktemp("served"), tiny_backbone) as (client, service):
        teach_all(client)
        yield client, service


@pytest.fixture(scope="module")
def client(pair: tuple[httpx.Client, Service]) -> httpx.Client:
    return pair[0]


@pytest.fixture(scope="module")
def service(pair: tuple[httpx.Client, Service]) -> Service:
    return pair[1]


@pytest.fixture
def fresh(tmp_path: Path, tiny_backbone: Backbone) -> Iterator[httpx.Client]:
    """A client of a service that knows nothing."""
    with running(tmp_path, tiny_backbone) as (client, _):
        yield client
