from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from foro.errors import BackboneError, ModelFileError
from foro.files import read_model, write_model
from foro.util.tensors import read_tensors, write_tensors

ARRAYS = {
    "doubles": np.linspace(0, 1, 7),
    "singles": np.arange(6, dtype=np.float32).reshape(2, 3),
    "halves": np.arange(3, dtype=np.float16),
    "counts": np.array([3, 1], dtype=np.int64),
    "nothing": np.zeros((0, 4)),
}


def test_the_safetensors_library_reads_what_we_write(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", ARRAYS, {"who": "Žluťoučký kůň"})
    theirs = load_file(tmp_path / "a")
    assert set(theirs) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(theirs[name], array)
        assert theirs[name].dtype == array.dtype
    with safe_open(tmp_path / "a", framework="numpy") as file:
        assert file.metadata() == {"who": "Žluťoučký kůň"}


def test_we_read_what_the_safetensors_library_writes(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "a", {"who": "them"})
    ours, metadata = read_tensors(tmp_path / "a")
    assert metadata == {"who": "them"}
    for name, array in ARRAYS.items():
        assert np.array_equal(ours[name], array)


def test_writing_to_what_was_read_leaves_the_file_alone(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", ARRAYS, {})
    before = (tmp_path / "a").read_bytes()
    arrays, _ = read_tensors(tmp_path / "a")
    arrays["doubles"] += 1
    assert (tmp_path / "a").read_bytes() == before
    assert np.array_equal(read_tensors(tmp_path / "a")[0]["doubles"], ARRAYS["doubles"])


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "whole", ARRAYS, {})
    whole = (tmp_path / "whole").read_bytes()
    for length in range(0, len(whole), 5):
        (tmp_path / "part").write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"part is (not a safetensors file|empty)"):
            read_tensors(tmp_path / "part")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x80\x04\x95" + b"\0" * 40,
        b"\x02" + b"\0" * 7 + b"[]",
        b"\xff" * 64,
        b"\x08" + b"\0" * 7 + b'{"a":1} ',
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(BackboneError, match="foreign"):
        read_tensors(tmp_path / "foreign", BackboneError)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no file"):
        read_tensors(tmp_path / "none")
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    write_tensors(tmp_path / "a", ARRAYS, {})
    before = (tmp_path / "a").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(ModelFileError, match="cannot be written: No space left"):
        write_tensors(tmp_path / "a", {"other": np.ones(3)}, {})
    assert (tmp_path / "a").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written: No such file or directory"):
        write_tensors(tmp_path / "no" / "a", ARRAYS, {})


def test_model_files_say_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_model(path, {"a": np.ones(2)}, {"labels": ["ü", 1]})
    arrays, metadata = read_model(path)
    assert metadata["labels"] == ["ü", 1]
    assert np.array_equal(arrays["a"], np.ones(2))
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(ModelFileError, match="not a FoRo model"):
        read_model(path)
    write_tensors(path, {}, {"format": "foro-model", "foro": json.dumps({"schema": 99})})
    with pytest.raises(ModelFileError, match=r"newer FoRo \(schema 99"):
        read_model(path)
    write_tensors(path, {}, {"format": "foro-model", "foro": "{}"})
    with pytest.raises(ModelFileError, match="no readable description"):
        read_model(path)


def write_raw(path: Path, header: object, body: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def test_unaligned_and_half_precision_tensors(tmp_path: Path) -> None:
    header = {
        "half": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]},
        "unaligned": {"dtype": "F32", "shape": [2], "data_offsets": [2, 10]},
        "brain": {"dtype": "BF16", "shape": [2], "data_offsets": [10, 14]},
    }
    body = np.array([1.5], "<f2").tobytes() + np.array([2.5, -3], "<f4").tobytes() + b"\x20\x40\x80\xbf"
    write_raw(tmp_path / "a", header, body)
    arrays, _ = read_tensors(tmp_path / "a")
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "half": [1.5],
        "unaligned": [2.5, -3.0],
        "brain": [2.5, -1.0],
    }
    assert arrays["unaligned"].flags.aligned
    assert arrays["brain"].dtype == np.float32


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [2], "data_offsets": [-4, 4]},
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
        {"dtype": "F128", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2]},
    ],
)
def test_impossible_tensors_are_refused(tmp_path: Path, entry: dict) -> None:
    write_raw(tmp_path / "a", {"a": entry}, bytes(8))
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        read_tensors(tmp_path / "a")


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (([0, 8], [4, 12]), "two tensors overlap"),
        (([0, 8], [0, 8]), "two tensors overlap"),
        (([0, 4], [8, 16]), "there is a gap"),
        (([0, 8], [8, 12]), "its tensors end after 12 bytes, not after 16"),
    ],
)
def test_tensors_lie_one_after_another(tmp_path: Path, spans: tuple[list[int], ...], said: str) -> None:
    entries = [{"dtype": "F32", "shape": [(end - begin) // 4], "data_offsets": [begin, end]} for begin, end in spans]
    write_raw(tmp_path / "a", dict(zip("ab", entries, strict=True)), bytes(16))
    with pytest.raises(ModelFileError, match=said):
        read_tensors(tmp_path / "a")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a is empty"),
        (b"\x08\x09\x12\x04foro:" + bytes(90), "a is an ONNX graph, for any ONNX runtime to predict with, not"),
        (b"\xff\xd8\xff\xe0" + bytes(90), "a is a JPEG image, not a safetensors file"),
        (b"PK\x03\x04" + bytes(90), "a is a ZIP archive"),
        (b"\x80\x04\x95" + bytes(90), "a is a pickle"),
        (b"path,label\n1.jpg,cat\n", "a is text"),
        (b"foro journal 1\n\x00rec" + bytes(90), "a is the journal of a model"),
        (bytes(90), "a is not a safetensors file, or is truncated or damaged"),
    ],
)
def test_what_a_foreign_file_is_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ModelFileError, match=said):
        read_tensors(tmp_path / "a")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_is_no_regular_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(ModelFileError, match="it is not a regular file"):
        read_tensors(tmp_path / "a")
