from __future__ import annotations

import json
from pathlib import Path

import pytest

from foro.backbones import list_backbones, load_checkpoint
from tests.backbones.reference import save_checkpoint, tiny_checkpoint
from tests.command_line import foro


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and no network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def parameters(name: str) -> int:
    return sum(array.size for array in load_checkpoint(name).tensors.values())


def test_list_says_what_and_where_each_is() -> None:
    lines = foro("backbone", "list").lines
    names = [line.split()[0] for line in lines]
    assert sorted(names) == sorted([*list_backbones(), "recommended", "others"])
    assert lines[1].split()[:6] == ["nano", f"{parameters('nano') / 1e6:.1f}", "M", "96", "px", "fastest"]
    assert lines[1].endswith("part of FoRo")
    assert lines[2].split()[:6] == ["vit_tiny_patch16_224.augreg_in21k_ft_in1k", "5.5", "M", "224", "px", "fast"]
    assert names.index("others") == 6
    tiny = json.loads(foro("backbone", "list", "TINY_patch16", "--json").out)
    assert tiny
    assert all("tiny_patch16" in each["name"] and each["place"] == "hub" for each in tiny)
    (here,) = json.loads(foro("backbone", "list", "--here", "--json").out)
    assert (here["name"], here["image_size"], here["speed"], here["recommended"]) == ("nano", 96, "fastest", True)


def test_info_of_what_is_here(tmp_path: Path) -> None:
    checkpoint = load_checkpoint("nano")
    shown = foro("backbone", "info", "nano")
    assert shown.code == 0
    assert checkpoint.fingerprint in shown.out
    assert json.loads(foro("backbone", "info", "nano", "--json").out)["width"] == checkpoint.architecture.dim
    save_checkpoint(tiny_checkpoint(), tmp_path / "tiny")
    assert "in a folder" in foro("backbone", "info", tmp_path / "tiny").out


def test_pull_builds_and_verifies(tmp_path: Path) -> None:
    ran = foro("backbone", "pull", "nano")
    assert ran.code == 0
    assert "images a second" in ran.out
    told = json.loads(foro("backbone", "pull", "nano", "--json").out)
    assert told["place"] == "embedded"
    assert told["images_per_second"] > 0


def test_damaged_weights_are_noticed(tmp_path: Path) -> None:
    damaged = tiny_checkpoint()
    for array in damaged.tensors.values():
        array[...] = 0
    save_checkpoint(damaged, tmp_path / "zero")
    ran = foro("backbone", "pull", tmp_path / "zero")
    assert ran.code == 2
    assert "does not compute as it should" in ran.err


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        ("pull", "vit_tiny_patch16_224.augreg_in21k", "the Hugging Face hub cannot be reached"),
        ("info", "vit_tiny_patch16_224.augreg_in21k", "get it by foro backbone pull"),
        ("info", "vit_base_patch16_224", "choose one of"),
        ("info", "nan", "did you mean nano"),
        ("info", "a b.c", "there is no backbone"),
        ("pull", "nowhere/at/all", "there is no file or folder"),
    ],
)
def test_mistakes_are_one_line(command: str, name: str, said: str) -> None:
    ran = foro("backbone", command, name)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
