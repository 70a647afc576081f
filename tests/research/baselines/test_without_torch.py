"""Where the torch extra is not installed, methods are listed and resolved, and a run says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LISTED = """
import sys
from foro.research.protocol.method_catalog import list_methods
settings = {method.name: method.resolve({}) for method in list_methods()}
assert {"ft", "lwf", "l2p", "dsg", "layup", "adam", "ranpac"} <= settings.keys()
print([name for name in ("torch", "timm", "diffusers", "torchvision") if name in sys.modules])
"""

ABSENT = """
import importlib.util
usual = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("torch", "timm") else usual(name, *rest)
from foro.cli import main
main()
"""


def shown(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_listing_methods_and_their_settings_imports_no_torch() -> None:
    assert shown(LISTED).stdout == "[]\n"


def test_a_run_says_what_to_install_before_it_starts(tmp_path: Path) -> None:
    run = shown(ABSENT, "experiment", "run", "--dataset", "digits", "--methods", "kem,ft", "--out", str(tmp_path))
    assert run.returncode == 2
    assert run.stderr == 'foro: ft needs torch and timm: pip install "foro[torch]"\n'
    assert not list(tmp_path.glob("*.json"))
