"""The programs of the documentation run as they are printed, and so do the examples of docstrings."""

from __future__ import annotations

import ast
import doctest
import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import foro

DOCS = Path(__file__).parents[1] / "docs"
SOURCE = Path(__file__).parents[1] / "src"
EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>>" in path.read_text(encoding="utf-8")]
NOTEBOOK = Path(__file__).parents[1] / "examples" / "two_rounds.ipynb"


def blocks(page: Path) -> list[str]:
    """Python blocks of a page, in their order."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_python_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    program = blocks(DOCS / "python.md")
    assert len(program) >= 12
    names: dict[str, object] = {"__name__": "docs"}
    for number, block in enumerate(program):
        exec(compile(block, f"python.md, block {number + 1}", "exec"), names)
    shown = capsys.readouterr().out
    assert "False\n" in shown  # a forgotten label is not predicted
    assert "True\n" in shown  # merged models predict what one would
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"digits.foro", "digits.onnx", "digits.safetensors", "door.foro"}


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_what_pages_import_is_public(page: Path) -> None:
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            assert not (isinstance(node, ast.Import) and any(each.name.startswith("foro.") for each in node.names))
            if isinstance(node, ast.ImportFrom) and node.module == "foro":
                assert {each.name for each in node.names} <= set(foro.__all__)
            elif isinstance(node, ast.ImportFrom):  # what needs an extra has a module of its own
                assert node.module in ("foro.sklearn", "foro.client") or not str(node.module).startswith("foro")


@pytest.mark.parametrize(
    "verb",
    ["learn", "predict", "evaluate", "compare", "review", "info", "forget", "rename", "unlearn", "merge", "export"],
)
def test_every_verb_has_its_place(verb: str) -> None:
    headings = " ".join(re.findall(r"^## (.*)$", (DOCS / "python.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert re.search(rf"\b{verb}\b", headings)


def test_the_guide_shows_every_verb_and_nothing_of_the_computer_it_was_made_on() -> None:
    text = (DOCS / "guide.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ foro (\w+)", text, re.MULTILINE)
    assert {"learn", "info", "evaluate", "predict", "forget", "merge", "export"} <= set(shown)
    assert not re.search(r"/(tmp|home|root|work|Users|var)/", text)
    assert (DOCS / "guide-confusion.png").is_file()


def test_the_notebook_is_small_and_has_its_pictures() -> None:
    assert NOTEBOOK.stat().st_size < 300_000
    outputs = [
        each for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] for each in cell.get("outputs", [])
    ]
    assert sum("image/png" in each.get("data", {}) for each in outputs) >= 5


def test_the_notebook_runs(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the dev extra")
    nbclient = pytest.importorskip("nbclient", reason="needs the dev extra")
    pytest.importorskip("ipykernel", reason="needs the dev extra")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    (last,) = notebook.cells[-1]["outputs"]
    assert float(last["text"].split(":")[1]) < 1e-9  # two rounds are as good as one


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_in_docstrings_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the client alone is read: it needs a service, and tests/serve has one for the same lines."""
    pytest.importorskip("sklearn", reason="needs the demo extra") if path.name == "sklearn.py" else None
    monkeypatch.chdir(tmp_path)
    for name, tone in (("tom", 220), ("rex", 30), ("who", 210)):
        Image.fromarray(np.full((32, 32, 3), tone, np.uint8)).save(f"{name}.jpg")
    done = doctest.testmod(import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts)))
    assert done.failed == 0
    assert done.attempted or path.name == "client.py"
