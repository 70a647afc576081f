"""The documentation site: it builds strictly, loads nothing from elsewhere, and its commands and programs run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command

import foro
from foro.cli.app import NAMES, app
from tests.test_docs import DOCS, blocks

pytestmark = pytest.mark.xdist_group("site")
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    if find_spec("mkdocs") is None or find_spec("fastapi") is None:
        pytest.skip("needs the dev extra")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


class Loads(HTMLParser):
    """Collects what a page loads, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.led: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster") or (name == "href" and tag in ("link", "use", "image")):
                self.loaded.append(str(value))
            elif name == "href" and tag == "a":
                self.led.append(str(value))


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 15
    for path in pages:
        page = Loads()
        page.feed(path.read_text(encoding="utf-8"))
        for address in page.loaded:
            parts = urlsplit(address)
            assert parts.scheme in ("", "data"), f"{path.name} loads {address}"
            if not parts.scheme:
                assert not parts.netloc, f"{path.name} loads {address}"
                where = site / parts.path.lstrip("/") if address.startswith("/") else path.parent / parts.path
                assert where.exists(), f"{path.name} loads {address}, which is not there"
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path.name


def test_links_inside_the_site_lead_somewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Loads()
        page.feed(path.read_text(encoding="utf-8"))
        for address in page.led:
            parts = urlsplit(address)
            if not parts.scheme and parts.path and path.name != "404.html":
                assert (path.parent / parts.path).exists(), f"{path.name} leads to {address}"


def test_every_command_public_name_and_route_has_its_place(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in NAMES if f'id="foro-{name}"' not in commands] == []
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in foro.__all__ if f'id="foro.{name}"' not in python] == []
    http = (site / "reference" / "http.html").read_text(encoding="utf-8")
    assert "POST /v1/predict" in http
    assert "POST /v1/learn" in http
    assert "leave-one-out" in (site / "glossary.html").read_text(encoding="utf-8")


def foro_lines(page: Path) -> list[list[str]]:
    """Words of every line of a shell block that runs ``foro``, without its name."""
    found = []
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            command = re.search(r"^(?:\$ |FORO_\w+=\S+ )*foro (.+)$", line)
            if command:
                found.append(shlex.split(command[1].replace("…", ""), comments=True))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_is_one(page: Path) -> None:
    """Names, arguments and options are those of the commands; what they do is tested elsewhere."""
    group: Any = get_command(app)
    for words in foro_lines(page):
        if "--help" in words or words[0].startswith("-"):
            continue
        context = group.context_class(group, info_name="foro")
        command = group.get_command(context, words[0])
        while hasattr(command, "commands"):
            words = words[1:]
            command = command.commands[words[0]]
        parser = command.make_parser(command.context_class(command, info_name=words[0], parent=context))
        parser.parse_args(args=words[1:])


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first pages speak of: a folder with pictures of pets and, as pictures, tones with noise."""
    folder, random = tmp_path_factory.mktemp("pets"), np.random.default_rng(0)

    def write(path: Path, tone: tuple[int, int, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(np.array(tone) + random.integers(0, 60, (48, 48, 3)))).save(path)

    for label, tone in {"cat": (180, 90, 20), "dog": (20, 60, 150)}.items():
        for part, count in (("pets", 10), ("pets-test", 4)):
            for number in range(count):
                write(folder / part / label / f"{number}.jpg", tone)
    for name in ("polly", "lora"):
        write(folder / "parrots" / "parrot" / f"{name}.jpg", (20, 180, 60))
    write(folder / "who.jpg", (180, 90, 20))
    return folder


@pytest.mark.parametrize("name", ["index.md", "first-model.md"])
def test_the_first_pages_work_as_they_stand(name: str, pets: Path) -> None:
    shell = re.findall(r"^```sh\n(.*?)^```$", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in shell for line in block.splitlines() if not line.startswith("pip ")]
    (pets / "pets.foro").unlink(missing_ok=True)
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "foro", line
        command = [sys.executable, "-c", "from foro.cli import main; main()", *words[1:]]
        ran = subprocess.run(command, cwd=pets, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
    assert len(lines) >= 2


def test_the_program_of_the_first_page_runs(
    pets: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(pets)
    (program,) = blocks(DOCS / "first-model.md")
    exec(compile(program, "first-model.md", "exec"), {"__name__": "docs"})
    assert capsys.readouterr().out.startswith("['cat'] ")
