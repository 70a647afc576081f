"""What the distribution promises: names, extras, and a core without torch."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from importlib.metadata import distribution
from pathlib import Path

import pytest

import foro
from benchmarks.installed_size import resolved

EXTRAS = {"sklearn", "figures", "demo", "torch", "ray", "heif", "serve", "client", "dev"}


def test_core_never_brings_torch() -> None:
    names = resolved("foro")
    assert {"numpy", "onnxruntime", "cma"} <= names
    assert not {
        name for name in names if name.startswith(("torch", "timm", "nvidia", "ray", "fastapi", "matplotlib", "scikit"))
    }


def test_extras_and_licence() -> None:
    metadata = distribution("foro").metadata
    assert set(metadata.get_all("Provides-Extra")) == EXTRAS
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Version"] == foro.__version__


def test_import_is_cheap_and_loads_no_runtime() -> None:
    for module, unwanted in [
        ("foro", ("numpy", "torch", "onnxruntime")),
        ("foro.learner", ("torch", "timm", "onnxruntime", "cma", "matplotlib")),
        ("foro.cli", ("numpy", "jinja2", "filelock", "platformdirs")),
        ("foro.durable, foro.evaluation.evaluation_page", ("jinja2", "filelock", "platformdirs")),
    ]:
        code = f"import sys, {module}; print([name for name in {unwanted} if name in sys.modules])"
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert shown == "[]\n"


@pytest.mark.parametrize("name", foro.__all__)
def test_every_public_name_is_there_and_has_a_docstring(name: str) -> None:
    public = getattr(foro, name)
    assert public.__name__ == name
    assert public.__doc__
    assert name in dir(foro)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Teacher'"):
        _ = foro.Teacher


def test_a_base_name_occurs_once() -> None:
    """A file can be found by its name alone; a command of the command line may have the name of what it calls."""
    sources = [path for path in Path(foro.__file__).parent.rglob("*.py") if path.name != "__init__.py"]
    names = Counter(path.name for path in sources if path.parent.name != "cli")
    assert [name for name, count in names.items() if count > 1] == []
