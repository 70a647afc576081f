"""The documentation site: it builds strictly, loads nothing from elsewhere, and its commands and programs run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
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
from tests.command_line import foro as run
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
    environment = {**os.environ, "REPO_URL": "https://example.org/foro"}  # as the workflow builds it
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
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
        page, text = Loads(), path.read_text(encoding="utf-8")
        page.feed(text)
        assert 'data-md-component="source"' not in text, "the theme would ask the repository's host for its stars"
        assert "https://example.org/foro" in text
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
        for line in block.replace("\\\n", "").splitlines():
            command = re.search(r"^(?:\$ |FORO_\w+=\S+ )*foro (.+)$", line)
            if command:
                found.append(shlex.split(command[1].replace("…", ""), comments=True))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_is_one(page: Path) -> None:
    """Names, arguments and options are those of the commands; what they do is tested elsewhere."""
    for words in foro_lines(page):
        if "--help" not in words and not words[0].startswith("-"):
            parsed(words)


def parsed(words: list[str]) -> None:
    """Fails for a command, an argument or an option that does not exist."""
    group: Any = get_command(app)
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


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/first-model.md"])
def test_the_first_pages_work_as_they_stand(name: str, pets: Path) -> None:
    """But for ``make`` and ``pip``, and the experiments of the README, which take hours."""
    shell = re.findall(r"^```sh\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in shell for line in block.splitlines()]
    lines = [line for line in lines if not line.startswith(("pip ", "make ", "foro experiment "))]
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


def test_the_programs_of_the_readme_run(
    pets: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(pets)
    shutil.copy("parrots/parrot/polly.jpg", "polly.jpg")
    teaching, alone = blocks(ROOT / "README.md")
    names: dict[str, Any] = {"__name__": "docs"}
    exec(compile(teaching, "README.md", "exec"), names)
    assert foro.Learner.load("pets.foro").labels == ["cat", "dog", "parrot"]
    features = np.random.default_rng(0).normal(size=(6, 192))
    exec(compile(alone, "README.md", "exec"), {"X": features, "labels": list("aabbcc"), "X_new": features[:2]})


RUN = {
    "README.md": {"sh", "python"},
    "federated.md": {"sh", "python"},  # tests/cluster/test_federated.py
    "first-model.md": {"sh", "python"},
    "guide.md": {"python"},  # docs/ask.py, tests/files/test_export.py; what follows a $ was run by docs/make_guide.py
    "index.md": {"sh"},
    "measurements.md": {"sh"},  # tests/research runs such a table, on less
    "python.md": {"python"},  # tests/test_docs.py
    "results.md": {"sh"},  # docs/make_results.py
    "scaling.md": {"sh", "python"},  # tests/cluster/test_scaling_page.py
    "serving.md": {"sh", "python", "js", "json"},  # tests/serve/test_docs.py
    "sweeps.md": {"sh"},  # docs/make_results.py
}
"""Languages of a page whose blocks are run, and where, if not by this file."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_block_that_nobody_runs_is_noticed(page: Path) -> None:
    written = set(re.findall(r"^ *```+ *(\w+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert written <= RUN.get(page.name, set())


NOT_RUN = {
    "vit_": "needs weights that are not here",
    "--engine ray": "tests/cluster runs it",
    "foro serve": "tests/serve runs it",
    "foro demo": "tests/verbs runs it",
    "foro experiment run": "tests/research runs it, on less",
    "foro experiment table": "tests/research runs it, on less",
    "foro experiment figure": "tests/research runs it, on less",
    "foro experiment report": "tests/research runs it",
}
"""Examples of the command reference that are only read here, by what they contain, and why."""


def reference() -> list[str]:
    """Lines of the examples of the generated command reference that run ``foro``."""
    pytest.importorskip("mkdocs", reason="needs the dev extra")
    sys.path.insert(0, str(DOCS))
    try:
        import site_pages
    finally:
        sys.path.remove(str(DOCS))
    shell = re.findall(r"^```sh\n(.*?)^```$", site_pages.commands_page(), re.DOTALL | re.MULTILINE)
    return [line for block in shell for line in block.splitlines() if "foro " in line]


def in_shell(line: str) -> list[str]:
    """Words after ``foro``, without what stands before and after it in a pipe."""
    (part,) = (each.strip() for each in re.split(r"\s\|\s", line) if re.match(r"(FORO_\w+=\S+ )*foro ", each.strip()))
    words = shlex.split(part[part.index("foro ") :], comments=True)[1:]
    return words[: words.index(">")] if ">" in words else words


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders, lists and models that the examples of the command reference speak of, the models small."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    tones = {"cat": 20, "dog": 60, "Maine Coon": 100, "main coon": 140, "puppy": 180, "-1": 200, "door": 220}

    def write(path: str, label: str) -> None:
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        noise = random.integers(0, 50, (40, 40, 3))
        Image.fromarray(np.uint8(np.array([tones[label], 120, 255 - tones[label]]) * 0.8 + noise)).save(place)

    for label in ("cat", "dog", "Maine Coon", "main coon", "puppy"):
        for number in range(1, 9):
            write(f"pets/{label}/{number}.jpg", label)
            write(f"pets-test/{label}/{number}.jpg", label)
        write(f"north/{label}/1.jpg", label)
    for number in range(3):
        write(f"photos/new/{number}.jpg", "cat")
        write(f"numbers/-1/{number}.jpg", "-1")
        write(f"numbers/door/{number}.jpg", "door")
    for name in ("who.jpg", "door.jpg", "1.jpg"):
        write(name, "door")
    write("polly.jpg", "puppy")
    for source, copy in (("cat/3", "corrected/dog/3"), ("cat/7", "mistakes/cat/7")):
        (tmp_path / copy).parent.mkdir(parents=True)
        shutil.copy(f"pets/{source}.jpg", f"{copy}.jpg")
    Path("parrots.csv").write_text("path,label\npolly.jpg,parrot\n")
    Path("withdrawn.csv").write_text("path,label\npets/cat/8.jpg,cat\n")
    Path("pets-test.csv").write_text("path,label\npets-test/cat/1.jpg,cat\npets-test/dog/1.jpg,dog\n")
    small = ("--set", "projection_dim=64", "--held-out", "0", "--quiet")
    for model, data in (("pets", "pets-test"), ("numbers", "numbers")):
        assert run("learn", f"{model}.foro", data, *small).code == 0
    for copy in ("south", "week1", "week2", "week3", "old", "new", "nano", "vit"):
        shutil.copy("pets.foro", f"{copy}.foro")
    return tmp_path


def test_the_examples_of_the_command_reference_run(shop: Path) -> None:
    """In their order, as they stand; those that are run by other tests, or need what is not here, are read alone."""
    lines, ran = reference(), 0
    assert len(lines) >= 60
    stdin = {"camera": '{"path": "1.jpg", "label": "open"}\n', "find": "photos/new/1.jpg\n"}
    for line in lines:
        if any(part in line for part in NOT_RUN):
            continue
        done = run(*in_shell(line), stdin=stdin.get(line.split()[0], ""))
        assert done.code == 0, (line, done.out, done.err)
        ran += 1
    assert ran >= 35
    assert (shop / "pets.onnx").is_file()


def test_the_other_examples_of_the_command_reference_are_commands() -> None:
    for line in reference():
        parsed(in_shell(line))
