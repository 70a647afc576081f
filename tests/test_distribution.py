"""The source distribution and the wheel: what is in them, and that they work in an environment of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import foro
from benchmarks.installed_size import resolved

pytestmark = [
    pytest.mark.xdist_group("distribution"),
    pytest.mark.skipif(find_spec("hatchling") is None, reason="needs the dev extra"),
]
ROOT = Path(__file__).parents[1]


def run(*command: object, cwd: Path, code: int = 0, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (packed,) = folder.glob("*.tar.gz")
    assert packed.name == f"foro-{foro.__version__}.tar.gz"
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / packed.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel, built from the source distribution as an installer would."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", source.parent, cwd=source)
    (built,) = source.parent.glob("*.whl")
    return built


class Environment:
    """An environment with a wheel, or built from source, and links to just the packages that it asks for."""

    def __init__(self, folder: Path, source: Path, *extras: str) -> None:
        venv.create(folder, symlinks=True, with_pip=False)
        scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.python, self.command = scripts / "python", scripts / "foro"
        place = run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
        self.folder = Path(place.strip())
        self.link((resolved("foro", extras) | resolved("hatchling")) - {"foro"})
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "--quiet"]
        run(*pip, "install", "--no-deps", "--no-index", "--no-build-isolation", source, cwd=folder)

    def link(self, names: set[str]) -> None:
        for name in names:
            package = distribution(name)
            for top in {file.parts[0] for file in package.files or [] if file.parts[0] not in ("..", "__pycache__")}:
                if not (self.folder / top).exists():
                    (self.folder / top).symlink_to(Path(str(package.locate_file(top))).resolve())

    def foro(self, *words: object, cwd: Path, code: int = 0) -> str:
        return run(self.command, *words, cwd=cwd, code=code)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("wheel"), wheel)


def test_the_source_has_what_its_tests_read(source: Path) -> None:
    if (ROOT / ".git").exists():
        tracked = set(run("git", "ls-files", cwd=ROOT).splitlines())
        missing = {name for name in tracked if not (source / name).exists() and (ROOT / name).exists()}
        assert missing <= {".ci/run"}
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_docs.py"]
    assert "passed" in run(*pytest_, "-k", "not run and not python_page", cwd=source, PYTHONPATH="src")


def test_the_wheel_is_the_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    sources = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in sources if "egg-info" not in str(path)}


def test_the_core_learns_and_predicts_with_its_own_dependencies(installed: Environment, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for label, tone in [("dark", 40), ("light", 200)]:
        (tmp_path / "tones" / label).mkdir(parents=True)
        for number in range(6):
            noise = np.uint8(tone + random.integers(0, 40, (24, 24, 3)))
            Image.fromarray(noise).save(tmp_path / "tones" / label / f"{number}.png")
    assert installed.foro("--version", cwd=tmp_path) == f"foro {foro.__version__}\n"
    installed.foro("learn", "tones.foro", "tones", cwd=tmp_path)
    told = json.loads(installed.foro("predict", "tones.foro", "tones/dark/0.png", "--json", cwd=tmp_path))
    assert told["label"] == "dark"
    installed.foro("evaluate", "tones.foro", "tones", cwd=tmp_path)
    assert "32 have the same label" in installed.foro("export", "tones.foro", "tones.onnx", cwd=tmp_path)
    assert "images a second" in installed.foro("backbone", "pull", "nano", cwd=tmp_path)
    refused = installed.foro("evaluate", "tones.foro", "tones", "--html", "page.html", cwd=tmp_path, code=2)
    assert refused == 'foro: pages and pictures need matplotlib: pip install "foro[figures]"\n'
    refused = installed.foro("demo", cwd=tmp_path, code=2)
    assert refused == 'foro: the demonstration needs matplotlib and sklearn: pip install "foro[demo]"\n'
    refused = installed.foro("serve", "tones.foro", cwd=tmp_path, code=2)
    assert 'pip install "foro[serve]"' in refused
    refused = run(installed.python, "-c", "import foro.sklearn", cwd=tmp_path, code=1)
    assert 'foro.sklearn needs sklearn: pip install "foro[sklearn]"' in refused
    refused = run(installed.python, "-c", "import foro; foro.load_dataset('digits')", cwd=tmp_path, code=1)
    assert 'the handwritten digits come with sklearn: pip install "foro[sklearn]"' in refused


@pytest.mark.skipif(sys.platform == "win32", reason="the container is not for Windows")
def test_the_steps_of_the_container(tmp_path: Path) -> None:
    """Copies what the Dockerfile copies, installs it as that does but from what is here, starts it and asks for health.

    The base image, the user and the read-only root are the container's own and are not tried.
    """
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in dockerfile.splitlines() if re.match("[A-Z]+ ", line)]
    allowed = set(re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    context = tmp_path / "source"
    context.mkdir()
    for words in [rest.split() for name, rest in steps if name == "COPY" and "--from" not in rest]:
        assert set(words[:-1]) <= allowed
        for name in words[:-1]:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, context / words[-1], ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, context)
    (extras,) = re.findall(r'pip install --no-cache-dir "\.\[(\w+)\]"', dockerfile)
    environment = Environment(tmp_path / "foro", context, extras)
    told = dict(steps)
    entry, health = json.loads(told["ENTRYPOINT"]), json.loads(told["HEALTHCHECK"].partition("CMD ")[2])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [str(environment.command), *entry[1:], str(tmp_path / "model.foro"), "--port", port]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    service = subprocess.Popen(command, env={**variables, "FORO_TEACH_TOKEN": "a token for this test"}, cwd=tmp_path)
    try:
        check = [str(environment.python), *health[1:-1], health[-1].replace("8000", port)]
        until = time.monotonic() + 120
        while subprocess.run(check, capture_output=True).returncode:
            assert service.poll() is None, "the service ended"
            assert time.monotonic() < until, "the service is not healthy"
            time.sleep(0.5)
    finally:
        service.terminate()
        assert service.wait(60) == 0
