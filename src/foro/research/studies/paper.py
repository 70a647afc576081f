"""The paper's own figures, copied from its tables and text; percent, with standard deviations where it gives them.

Jiao Chen, Jiayi He, Fangfang Chen, Zuohong Lv, Jianhua Tang: Forward-Only Continual Learning. Proceedings of the 33rd
ACM International Conference on Multimedia (MM '25), 2025, doi:10.1145/3746027.3755302.
"""

from __future__ import annotations

from foro.research.protocol.run_groups import Mean

CITATION = "Chen, He, Chen, Lv, Tang: Forward-Only Continual Learning, ACM Multimedia 2025, doi:10.1145/3746027.3755302"
SETUP = "ViT-B/16 pre-trained on ImageNet-1K, the complete data sets, 3 seeds"
BACKBONES = ("vit_base_patch16_224.augreg_in1k", "vit_base_patch16_224.orig_in1k")
"""What the paper's description of its backbone fits: ViT-B/16 pre-trained on ImageNet-1K."""

TITLES = {"cifar100": "CIFAR-100", "imagenet_r": "ImageNet-R", "cub200": "CUB-200"}

# Table 1: A, ±, F, ± for T = 5, then the same for T = 25.
_COMPARISON = {
    "cifar100": """
        FT      73.2 3.09  4.5 0.86 55.7 1.81 32.7 2.41
        LwF     83.3 1.46  9.1 0.72 73.6 1.36 10.7 2.50
        DSG     86.8 1.82  5.8 0.79 84.1 0.86  6.1 1.95
        L2P     85.8 1.58  7.7 1.76 81.3 1.69 10.2 0.72
        LayUP   90.2 0.47  3.8 0.49 84.9 0.92  6.9 0.66
        ADAM    90.9 1.32  3.6 1.08 84.7 0.79  7.1 0.67
        RanPAC  89.5 1.12  4.2 0.77 81.7 1.34  8.0 0.94
        Fitness 84.5 2.61  5.6 2.07 82.0 1.97  9.4 1.49
        KEM     86.2 1.91  3.8 1.16 81.0 0.98  5.6 0.87
        FoRo    88.3 1.18  2.4 0.46 87.7 0.83  3.5 0.51
    """,
    "imagenet_r": """
        FT      61.4 0.96  5.8 0.51 39.1 0.65 36.4 0.43
        LwF     74.4 0.86  7.7 0.53 58.0 0.78 13.2 0.39
        DSG     71.1 1.06  3.6 0.58 66.3 0.74  8.7 0.41
        L2P     72.9 1.37  5.8 0.33 68.0 0.97  7.6 0.42
        LayUP   78.0 0.94  3.9 1.03 74.1 0.75  6.3 0.50
        ADAM    79.4 0.63  3.8 0.35 73.8 0.94  6.8 0.22
        RanPAC  77.2 0.48  4.2 0.17 75.3 0.88  7.2 0.26
        Fitness 72.5 0.77  5.8 0.14 70.3 0.83  8.4 0.20
        KEM     76.5 0.54  3.7 0.39 74.7 0.79  4.6 0.47
        FoRo    78.6 0.65  3.0 0.31 76.7 0.64  3.7 0.19
    """,
    "cub200": """
        FT      60.1 1.28 16.3 0.91 54.3 1.32 25.6 0.54
        LwF     67.3 0.62 10.1 0.30 60.9 0.75 13.7 0.28
        DSG     75.2 0.85  6.9 0.70 69.8 0.73  5.8 0.35
        L2P     82.1 1.05  5.7 0.83 75.4 1.14  8.7 0.57
        LayUP   90.1 0.63  4.1 0.31 83.3 0.42  5.9 0.17
        ADAM    89.1 0.71  3.7 0.35 84.6 0.62  7.5 0.44
        RanPAC  87.4 0.77  4.4 0.34 83.1 0.32  4.7 0.13
        Fitness 81.2 0.31  6.1 0.25 79.7 0.33  9.0 0.28
        KEM     86.1 0.59  4.3 0.35 83.7 0.67  5.9 0.33
        FoRo    89.4 0.52  3.4 0.23 86.2 0.55  4.3 0.25
    """,
}

METHODS = ("FT", "LwF", "DSG", "L2P", "LayUP", "ADAM", "RanPAC", "Fitness", "KEM", "FoRo")
"""Rows of Table 1."""


def _pair(numbers: list[str]) -> tuple[Mean, Mean]:
    accuracy, its_deviation, forgetting, other_deviation = map(float, numbers)
    return Mean(accuracy, its_deviation, 3), Mean(forgetting, other_deviation, 3)


COMPARISON: dict[tuple[str, str, int], tuple[Mean, Mean]] = {
    (words[0], dataset, tasks): _pair(words[first : first + 4])
    for dataset, text in _COMPARISON.items()
    for words in map(str.split, text.strip().splitlines())
    for tasks, first in ((5, 1), (25, 5))
}
"""Table 1: A and F by row, data set and number of tasks."""

AVERAGE = {
    row: (Mean(accuracy), Mean(forgetting))
    for row, accuracy, forgetting in (
        ("FT", 57.3, 20.2),
        ("LwF", 69.6, 10.8),
        ("DSG", 75.6, 6.2),
        ("L2P", 77.6, 7.6),
        ("LayUP", 83.4, 5.2),
        ("ADAM", 83.7, 5.4),
        ("RanPAC", 82.0, 6.1),
        ("Fitness", 78.3, 7.3),
        ("KEM", 81.4, 4.7),
        ("FoRo", 84.5, 3.4),
    )
}
"""Table 1: A and F averaged over all data sets and numbers of tasks."""

ABLATION = {
    row: (Mean(accuracy), Mean(forgetting))
    for row, accuracy, forgetting in (
        ("FT", 57.3, 20.2),
        ("Entropy", 73.2, 7.6),
        ("Discrepancy", 71.4, 8.4),
        ("KEM", 81.4, 4.7),
        ("Entropy + Discrepancy", 78.4, 7.3),
        ("Entropy + KEM", 83.7, 3.9),
        ("Discrepancy + KEM", 83.2, 4.3),
        ("Entropy + Discrepancy + KEM", 84.5, 3.4),
    )
}
"""Table 2: A and F by the parts in use, averaged as in Table 1."""

COMPLEXITY: dict[tuple[str, int | None], dict[str, Mean]] = {
    (row, population): {
        name: Mean(number)
        for name, number in (
            ("forward", forward),
            ("backward", backward),
            ("accuracy", accuracy),
            ("forgetting", forgetting),
            ("seconds", seconds),
            ("megabytes", megabytes),
        )
        if number is not None
    }
    for row, population, forward, backward, accuracy, forgetting, seconds, megabytes in (
        ("FT", None, 1, 1, 55.7, 32.7, 1807, 4058),
        ("LwF", None, 1, 1, 73.6, 10.7, 2158, 6720),
        ("L2P", None, 1, 1, 81.3, 10.2, 1691, 3165),
        ("LayUP", None, 1, None, 84.9, 6.9, 1735, 3106),
        ("ADAM", None, 1, None, 84.7, 7.1, 1502, 2257),
        ("RanPAC", None, 1, None, 81.7, 8.0, 1585, 2812),
        ("KEM", None, 1, 0, 81.4, 4.7, 241, 1457),
        ("FoRo", 2, 2, 0, 83.8, 4.5, 457, 1478),
        ("FoRo", 4, 4, 0, 86.2, 3.9, 915, 1490),
        ("FoRo", 6, 6, 0, 87.7, 3.5, 1446, 1541),
    )
}
"""Table 3 (CIFAR-100, T = 25, one RTX 4090) by row and K. KEM's A and F are Table 1's averages over all data sets."""

LAMBDA = {
    0.1: (Mean(77.8), Mean(3.4)),
    0.3: (Mean(78.6), Mean(3.0)),
    0.5: (Mean(78.3), Mean(3.2)),
    0.7: (Mean(78.5), Mean(3.1)),
    0.9: (Mean(78.2), Mean(3.3)),
}
"""Table 4 (ImageNet-R, T = 5): A and F by λ."""

PROJECTION = {
    1000: Mean(86.1),
    2000: Mean(87.0),
    5000: Mean(87.8),
    8000: Mean(88.2),
    10000: Mean(87.9),
    15000: Mean(87.5),
}
"""Table 5 (CIFAR-100, T = 5): A by M."""

POPULATION = {population: COMPLEXITY["FoRo", population] for population in (2, 4, 6)}
"""Figure 3(a) (CIFAR-100, T = 25): its text states K = 4; Table 3 has K = 2, 4 and 6 of the same setting."""

PROMPT_TOKENS: dict[float, tuple[Mean, Mean | None]] = {3: COMPARISON["FoRo", "cifar100", 25]}
"""Figure 3(b) (CIFAR-100, T = 25): its text states no figure, but that Table 1 was made with P = 3."""

LONG = (5, 25, 50)
"""Figure 4 (CIFAR-100): numbers of tasks; its text states no figure, Table 1 has T = 5 and 25."""
