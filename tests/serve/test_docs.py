"""What the documents say can be typed in as it stands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from foro.backbones import Backbone
from foro.learner import Learner
from foro.serve.http import schemas
from foro.serve.service_config import ServeConfig
from tests.conftest import textures
from tests.serve.process import command, environment
from tests.serve.running import running, stripes

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8000"


def curl_lines() -> list[str]:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("curl ")]


def block(language: str, address: str) -> str:
    """The example in a language, for a service at the address."""
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found).replace(ADDRESS, address)


def write_pictures(folder: Path) -> None:
    for number, name in enumerate(["tom.jpg", "kitty.jpg", "rex.jpg", "who.jpg"]):
        (folder / name).write_bytes(stripes(number // 2, 4)[number])


def test_the_python_example_works(
    tmp_path: Path, tiny_backbone: Backbone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pictures(tmp_path)
    monkeypatch.chdir(tmp_path)
    with running(tmp_path, tiny_backbone) as (client, _):
        exec(compile(block("python", str(client.base_url)), "serving.md", "exec"), {})
        assert client.get("/v1/classes").json()["samples"] == 3
    assert capsys.readouterr().out.split()[0] in ("cat", "dog")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_javascript_example_works(tmp_path: Path, tiny_backbone: Backbone) -> None:
    write_pictures(tmp_path)
    files = "".join(f"const {name} = await openAsBlob('{name}.jpg');\n" for name in ("tom", "kitty", "who"))
    with running(tmp_path, tiny_backbone) as (client, _):
        program = 'import { openAsBlob } from "node:fs";\n' + files + block("js", str(client.base_url))
        command = ["node", "--no-warnings", "--input-type=module"]
        done = subprocess.run(command, input=program, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.startswith("cat "), done.stderr
        assert client.get("/v1/classes").json()["samples"] == 2


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_every_curl_line_works(tmp_path: Path, tiny_backbone: Backbone) -> None:
    write_pictures(tmp_path)
    other = Learner(tiny_backbone, policy="none", projection_dim=64)
    other.learn(*textures(2, seed=7))
    other.save(tmp_path / "other.foro")
    assert len(curl_lines()) >= 10
    with running(tmp_path, tiny_backbone) as (client, _):
        for line in curl_lines():
            typed = shlex.split(line.replace(ADDRESS, str(client.base_url)))
            done = subprocess.run(
                [*typed, "--silent", "--fail-with-body"], cwd=tmp_path, capture_output=True, text=True
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            if "metrics" not in line and "-o" not in typed:
                assert isinstance(json.loads(done.stdout), dict)
    assert Learner.load(tmp_path / "copy.foro", tiny_backbone).labels == ["cat", "dog"]
    assert Learner.load(tmp_path / "stripes.foro", tiny_backbone).head.samples == 3  # the merge was undone


def test_the_container_and_the_unit_run_what_there_is(tmp_path: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    entry = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", dockerfile, re.M).group(1))  # type: ignore[union-attr]
    assert entry[:2] == ["foro", "serve"]
    refused = subprocess.run(
        command(*entry[2:], tmp_path / "model.foro"), capture_output=True, text=True, env=environment()
    )
    assert refused.returncode == 2
    assert "needs a token" in refused.stderr
    assert re.search(r"^USER (?!0|root)", dockerfile, re.M)
    unit = (ROOT / "deploy" / "foro.service").read_text(encoding="utf-8")
    assert "ExecStart=/opt/foro/bin/foro serve ${STATE_DIRECTORY}/model.foro" in unit
    for rule in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=\n"):
        assert rule in unit
    for text in (dockerfile, unit):
        assert str(ServeConfig().port) in dockerfile
        assert "FORO_TEACH_TOKEN" in text


def test_every_answer_has_an_example_that_fits_its_description(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    shapes = described["components"]["schemas"]
    found = []
    for entries in described["paths"].values():
        for entry in entries.values():
            for answer in entry["responses"].values():
                for kind, content in answer.get("content", {}).items():
                    if kind.endswith("json"):
                        found.append(content["schema"]["$ref"].rsplit("/", 1)[1])
                        getattr(schemas, found[-1]).model_validate(content["example"])
    assert set(found) >= {"Health", "Predictions", "Learned", "Classes", "Changed", "Merged", "ProblemShape"}
    assert set(found) <= set(shapes)
    page = client.get("/docs").text
    assert "POST /v1/predict" in page
    assert "<script" not in page
