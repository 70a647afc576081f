"""Labelled images as users write them down: folders, tables, lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foro.errors import DataError
from foro.images.labelled import read_labelled, stream_labelled

LABELS = ["cat", "Ñandú ☃", "7", " spaced out ", 'a "quoted", label', "two\nlines"]


def test_a_folder_of_class_folders(tmp_path: Path) -> None:
    for label in ("cat", "Ñandú ☃", "7"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.png").touch()
    samples = read_labelled(tmp_path)
    assert samples.labels == ["7", "cat", "Ñandú ☃"]


@given(labels=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_label_survives_json_lines(tmp_path: Path, labels: list[str]) -> None:
    lines = [json.dumps({"path": "1.png", "label": label}) for label in labels]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read_labelled(tmp_path / "a.jsonl").labels == labels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "path,label\n1.png,cat\n\nsub/2.png,7\n"),
        ("a.csv", "\ufeffnote, Label ,path\nx,cat,1.png\ny,7,sub/2.png\n"),
        ("a.csv", '1.png,cat\r\n"sub/2.png","7"\r\n'),
        ("a.TSV", "path\tlabel\n1.png\tcat\nsub/2.png\t7\n"),
        ("a.jsonl", '{"path": "1.png", "label": "cat", "more": 1}\n\n{"label": 7, "path": "sub/2.png"}'),
        ("a.ndjson", '{"path": "1.png", "label": "cat"}\n{"label": "7", "path": "sub/2.png"}\n'),
    ],
)
def test_tables_and_lines_have_paths_relative_to_them(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    samples = read_labelled(tmp_path / name)
    assert samples.images == [tmp_path / "1.png", tmp_path / "sub" / "2.png"]
    assert samples.labels == ["cat", "7"]


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("/somewhere/1.png,cat\n")
    assert read_labelled(tmp_path / "a.csv").images == [Path("/somewhere/1.png")]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "names no images"),
        ("a.csv", "path,label\n", "names no images"),
        ("a.csv", "path,class\n1.png,cat\n", "has no columns path and label: its first line has path, class"),
        ("a.csv", "1.png,cat,3\n", "has no columns path and label"),
        ("a.csv", "path,label\n1.png,cat\n2.png\n", r"line 3 of .*a\.csv has no path or no label"),
        ("a.csv", "path,label\n1.png,\n", r"line 2 of .*a\.csv has no path or no label"),
        ("a.jsonl", '{"path": "1.png", "label": "cat"}\nhello\n', r"line 2 of .*a\.jsonl is not JSON"),
        ("a.jsonl", '{"label": "cat"}\n', "line 1 of .* has no path"),
        ("a.jsonl", '["1.png", "cat"]\n', "line 1 of .* has no path"),
        ("a.jsonl", '{"path": "1.png", "label": null}\n', "line 1 of .* has no label"),
        ("a.jsonl", '{"path": "1.png", "label": true}\n', "line 1 of .* has no label"),
        ("a.txt", "1.png,cat\n", r"is not a folder of class folders, nor a \.csv, \.tsv or \.jsonl file"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=said):
        read_labelled(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder or file"):
        read_labelled(tmp_path / "none")
    with pytest.raises(DataError, match="there is no folder or file"):
        read_labelled(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("1.png,Ñandú\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not text in UTF-8"):
        read_labelled(tmp_path / "latin.csv")


def test_a_stream_is_read_no_further_than_asked_for() -> None:
    read = []

    def lines() -> Iterator[bytes]:
        for number in range(1000):
            read.append(number)
            yield json.dumps({"path": f"{number}.png", "label": "Ñ"}, ensure_ascii=False).encode()

    stream = stream_labelled(lines(), "the stream", 3)
    first = next(stream)
    assert (first.images[2], first.labels) == (Path("2.png"), ["Ñ"] * 3)
    assert len(read) == 3
    assert len(next(stream)) == 3
    rest = stream_labelled([b'{"path": "1", "label": "a"}', "é".encode("latin-1")], "the stream", 1)
    next(rest)
    with pytest.raises(DataError, match="line 2 of the stream is not JSON"):
        next(rest)
    assert [len(part) for part in stream_labelled(['{"path": "1", "label": "a"}'] * 5, "the stream", 2)] == [2, 2, 1]
