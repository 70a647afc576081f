"""Names, folders, and the Hugging Face hub: its real client against a server of our own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from foro.backbones import Checkpoint, embedded, list_backbones, load_backbone, load_checkpoint, register
from foro.errors import BackboneError
from tests.backbones.reference import save_checkpoint, tiny_checkpoint

TAG = "vit_random.test"
COMMIT = "a" * 40


def test_names_are_listed() -> None:
    names = list_backbones()
    assert names[0] == "nano"
    assert "vit_tiny_patch16_224.augreg_in21k_ft_in1k" in names


def test_a_bare_name_is_refused_with_its_tags() -> None:
    with pytest.raises(BackboneError, match=r"choose one of .*vit_tiny_patch16_224\.augreg_in21k_ft_in1k"):
        load_checkpoint("vit_tiny_patch16_224")


@pytest.mark.parametrize("name", ["nanoo", "vit_tiny_patch16_225", "x"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(BackboneError, match=f"no backbone named '{name}'"):
        load_checkpoint(name)


def test_near_names_are_offered() -> None:
    with pytest.raises(BackboneError, match=r"did you mean .*nano"):
        load_checkpoint("nanoo")


@pytest.mark.parametrize("path", ["no/such/folder", "weights.safetensors", Path("nowhere")])
def test_a_missing_path(path: str | Path) -> None:
    with pytest.raises(BackboneError, match="there is no file or folder"):
        load_checkpoint(path)


def test_a_folder_is_loaded(tmp_path: Path) -> None:
    folder = save_checkpoint(tiny_checkpoint(), tmp_path / "model")
    for path in (folder, str(folder), folder / "model.safetensors"):
        assert load_checkpoint(path).fingerprint == tiny_checkpoint().fingerprint


@pytest.mark.parametrize("name", ["nano", "vit_nano_patch8_96.foro2_tin200"])
def test_nano(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "NANO", tmp_path)
    with pytest.raises(BackboneError, match="not in this build"):
        load_checkpoint(name)
    save_checkpoint(tiny_checkpoint(), tmp_path)
    assert load_checkpoint(name).fingerprint == tiny_checkpoint().fingerprint


def test_one_decorator_adds_a_backbone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_LOADERS", dict(embedded._LOADERS))
    monkeypatch.setattr(embedded, "_FULL_NAMES", dict(embedded._FULL_NAMES))

    @register("pico", "vit_pico.test")
    def pico() -> Checkpoint:
        return tiny_checkpoint()

    assert "pico" in list_backbones()
    assert load_backbone("pico").dim == 32
    assert load_checkpoint("vit_pico.test") is not None
    with pytest.raises(BackboneError, match="already registered"):
        register("pico", "vit_pico.other")(pico)


def test_unusable_combinations() -> None:
    checkpoint = tiny_checkpoint()
    with pytest.raises(BackboneError, match="runtime must be"):
        load_backbone(checkpoint, runtime="jax")  # type: ignore[arg-type]
    with pytest.raises(BackboneError, match="precision must be"):
        load_backbone(checkpoint, precision="int4")  # type: ignore[arg-type]
    with pytest.raises(BackboneError, match="float32"):
        load_backbone(checkpoint, runtime="torch", precision="int8")
    with pytest.raises(BackboneError, match="no device 'cuda'"):
        load_backbone(checkpoint, device="cuda")
    with pytest.raises(BackboneError, match="has no MagicProvider"):
        load_backbone(checkpoint, providers=["MagicProvider"])


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(BackboneError, match=r"pip install \"foro\[torch\]\""):
        load_backbone(tiny_checkpoint(), runtime="torch")


def test_importing_is_cheap() -> None:
    code = "import sys, foro.backbones; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["onnx", "onnxruntime", "torch", "timm", "huggingface_hub"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


class Hub(BaseHTTPRequestHandler):
    """The answers of the hub that a download of one file asks for."""

    folder: Path

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        prefix = f"/timm/{TAG}/resolve/"
        file = self.folder / self.path.rsplit("/", 1)[-1]
        if not self.path.startswith(prefix):
            self._send(404, {"X-Error-Code": "RepoNotFound"})
        elif self.path.split("/")[4] not in ("main", COMMIT):
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif not file.is_file():
            self._send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        else:
            data = file.read_bytes()
            etag = hashlib.sha256(data).hexdigest()
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Content-Length": str(len(data))}
            self._send(200, headers, data if body else b"")

    def _send(self, status: int, headers: dict[str, str], data: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    Hub.folder = save_checkpoint(tiny_checkpoint(), tmp_path / "served")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def load_in_child(name: str, cache: Path, endpoint: str, offline: bool = False, revision: str | None = None) -> str:
    """The hub's client reads its settings when it is imported, so every case is a process of its own."""
    code = (
        "import time\ntime.sleep = lambda _: None  # the client would wait between its attempts\n"
        "from foro.backbones import load_checkpoint\nfrom foro.errors import BackboneError\n"
        f"try: print(load_checkpoint({name!r}, revision={revision!r}).fingerprint)\n"
        "except BackboneError as error: print('refused:', error)"
    )
    settings = {"HF_HOME": str(cache), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "1" if offline else "0"}
    settings |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1"}
    environment = {**os.environ, **settings}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert found.stderr == ""  # the client tells of its attempts
    return found.stdout.strip()


def test_the_hub_and_its_cache(hub: str, tmp_path: Path) -> None:
    cache, fingerprint = tmp_path / "cache", tiny_checkpoint().fingerprint
    assert load_in_child(TAG, cache, hub) == fingerprint
    assert load_in_child(TAG, cache, hub, revision=COMMIT) == fingerprint
    # From here on without the server's help.
    assert load_in_child(TAG, cache, "http://127.0.0.1:9", offline=True) == fingerprint


def test_what_the_hub_does_not_have(hub: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    missing = load_in_child("vit_tiny_patch16_224.augreg_in21k_ft_in2k", cache, hub)
    assert missing.startswith("refused: there is no timm/vit_tiny_patch16_224.augreg_in21k_ft_in2k on")
    assert "did you mean vit_tiny_patch16_224.augreg_in21k_ft_in1k" in missing
    assert "has no revision 'v9'" in load_in_child(TAG, cache, hub, revision="v9")
    (Hub.folder / "model.safetensors").unlink()
    assert "has no model.safetensors" in load_in_child(TAG, cache, hub)


def test_any_other_trouble_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise OSError("No space left on device\nand a long story")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    with pytest.raises(BackboneError, match=r"could not be downloaded: No space left on device$"):
        load_checkpoint("vit_tiny_patch16_224.augreg_in21k")


@pytest.mark.parametrize("offline", [True, False])
def test_no_connection_and_nothing_in_the_cache(tmp_path: Path, offline: bool) -> None:
    answer = load_in_child(TAG, tmp_path / "cache", "http://127.0.0.1:9", offline=offline)
    assert answer.startswith(f"refused: {TAG} is not in the local cache and the Hugging Face hub cannot be reached")
