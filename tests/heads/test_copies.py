from __future__ import annotations

import numpy as np
import pytest

from foro.heads.copies import find_copies

WIDTH = 200


@pytest.mark.parametrize("common", [0.0, 15.0])
def test_copies_are_found_and_samples_with_much_in_common_are_none(common: float) -> None:
    generator = np.random.default_rng(0)
    samples = generator.standard_normal((40, WIDTH))
    samples[:, 0] += common * np.sqrt(WIDTH)
    samples[7] = samples[3] + 0.05 * generator.standard_normal(WIDTH)
    groups = find_copies(samples)
    assert groups[3] == [3, 7]
    assert groups[7] == [7, 3]
    assert all(group == [number] for number, group in enumerate(groups) if number not in (3, 7))


@pytest.mark.parametrize("count", [2, 20])
def test_a_set_of_one_image_is_all_copies(count: int) -> None:
    generator = np.random.default_rng(0)
    samples = generator.standard_normal(WIDTH) + 0.01 * generator.standard_normal((count, WIDTH))
    assert all(len(group) > 1 for group in find_copies(samples))
