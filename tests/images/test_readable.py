from __future__ import annotations

from pathlib import Path

import numpy as np

from foro.images.samples import Samples
from foro.images.unreadable import find_unreadable, without_unreadable
from tests.research.datasets.layouts import write_image


def test_corrupt_images_are_named_and_left_out_with_their_labels(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jpg" for number in range(6)]
    for number, path in enumerate(paths):
        write_image(path, 40 * number)
    paths[1].write_bytes(b"no image")
    paths[4].write_bytes(paths[4].read_bytes()[:-200])
    paths[5].unlink()
    good, bad = without_unreadable(Samples(paths, ["a", "b", "c", "d", "e", "f"]))
    assert good.labels == ["a", "c", "d"]
    assert list(good.images) == [paths[0], paths[2], paths[3]]
    assert [each.position for each in bad] == [1, 4, 5]
    assert all(f"{paths[each.position]} cannot be read as an image" in each.reason for each in bad[:2])
    assert bad[2].reason == f"there is no image {paths[5]}"


def test_what_can_be_decoded_is_left_as_it_is(tmp_path: Path) -> None:
    samples = Samples(np.zeros((3, 2, 2), np.uint8), [0, 1, 2])
    assert without_unreadable(samples) == (samples, [])
    assert [bad.position for bad in find_unreadable(np.full((2, 3, 3), np.nan))] == [0, 1]
    assert find_unreadable([]) == []
