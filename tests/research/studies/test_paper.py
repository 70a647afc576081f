"""The paper's figures were copied without a slip: its own averages and repetitions agree with them."""

from __future__ import annotations

import pytest

from foro.research.studies import paper


@pytest.mark.parametrize("row", paper.METHODS)
def test_table_1_has_every_cell(row: str) -> None:
    cells = [paper.COMPARISON[row, dataset, tasks] for dataset in paper.TITLES for tasks in (5, 25)]
    assert all(value.deviation for pair in cells for value in pair)
    assert all(20 < accuracy.mean < 100 > forgetting.mean > 2 for accuracy, forgetting in cells)


def averages() -> dict[str, tuple[float, float]]:
    """Differences between the averages that the paper prints and those of its cells."""
    found = {}
    for row in paper.METHODS:
        cells = [paper.COMPARISON[row, dataset, tasks] for dataset in paper.TITLES for tasks in (5, 25)]
        means = [sum(pair[number].mean for pair in cells) / 6 for number in (0, 1)]
        found[row] = (paper.AVERAGE[row][0].mean - means[0], paper.AVERAGE[row][1].mean - means[1])
    return found


def test_the_averages_of_table_1_are_those_of_its_cells_but_for_the_papers_own_slips() -> None:
    wrong = {
        row: tuple(round(each, 1) for each in differences)
        for row, differences in averages().items()
        if max(map(abs, differences)) > 0.1
    }
    assert wrong == {"RanPAC": (-0.4, 0.6)}  # the paper prints 82.0 and 6.1; its cells average 82.4 and 5.5


def test_what_the_paper_says_twice_is_the_same() -> None:
    for row in ("FT", "LwF", "L2P", "LayUP", "ADAM", "RanPAC"):
        accuracy, forgetting = paper.COMPARISON[row, "cifar100", 25]
        assert paper.COMPLEXITY[row, None]["accuracy"].mean == accuracy.mean
        assert paper.COMPLEXITY[row, None]["forgetting"].mean == forgetting.mean
    assert paper.COMPLEXITY["FoRo", 6]["accuracy"].mean == paper.COMPARISON["FoRo", "cifar100", 25][0].mean
    assert paper.LAMBDA[0.3][0].mean == paper.COMPARISON["FoRo", "imagenet_r", 5][0].mean
    for label, row in (("FT", "FT"), ("KEM", "KEM"), ("Entropy + Discrepancy + KEM", "FoRo")):
        assert paper.ABLATION[label] == paper.AVERAGE[row]
