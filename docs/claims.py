"""The paper's claims and what was measured here: differences within each, in points."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

STREAMS = {
    "cifar100": "CIFAR-100, nano",
    "cub200": "CUB-200, nano",
    "vit-112": "CIFAR-100, ViT-Ti at 112 px",
    "vit-224": "CIFAR-100, ViT-Ti at 224 px",
}


@dataclass(frozen=True)
class End:
    """A place in a table: a quantity, the paper's row, and our methods with our own and with the paper's settings."""

    quantity: str
    row: str
    default: str
    paper: str

    def values(self, table: list[dict[str, str]]) -> list[float | None]:
        """The paper's figure, and our two."""
        here = [each for each in table if (each["quantity"], each["row"]) == (self.quantity, self.row)]
        found = [each["paper"] for each in here[:1]] or [""]
        for method in (self.default, self.paper):
            found += [each["ours"] for each in here if each["method"] == method][:1] or [""]
        return [float(each) if each else None for each in found]


@dataclass(frozen=True)
class Claim:
    """A difference between two places of a table, in some tables."""

    what: str
    more: End
    less: End
    tables: tuple[str, ...] = tuple(STREAMS)


def _kem(quantity: str) -> End:
    return End(quantity, "KEM", "kem", "kem-paper")


def _foro(quantity: str) -> End:
    return End(quantity, "FoRo", "foro", "foro-paper")


def _sweep(row: str, default: str, paper: str) -> End:
    return End("A", row, default, paper)


CLAIMS = (
    Claim("KEM: A at T = 25 less A at T = 5", _kem("A, T = 25"), _kem("A, T = 5")),
    *(
        Claim(f"FoRo less KEM: {quantity}", _foro(quantity), _kem(quantity))
        for quantity in ("A, T = 5", "A, T = 25", "F, T = 5", "F, T = 25")
    ),
    *(
        Claim(f"{row} less KEM: A", _sweep(row, "", method), _sweep("KEM", "", "kem-paper"), ("ablation",))
        for row, method in (
            ("Entropy + KEM", "entropy-kem-paper"),
            ("Discrepancy + KEM", "discrepancy-kem-paper"),
            ("Entropy + Discrepancy + KEM", "foro-paper"),
        )
    ),
    *(
        Claim(f"M = {more} less M = {less}: A", *(_sweep(m, "kem", "kem-paper") for m in (more, less)), ("projection",))
        for more, less in (("8,000", "1,000"), ("15,000", "8,000"))
    ),
    *(
        Claim(
            f"{name} = {more} less {name} = {less}: A", *(_sweep(v, "", "foro-paper") for v in (more, less)), (table,)
        )
        for table, name, more, less in (
            ("lambda", "λ", "0.9", "0.1"),
            ("population", "K", "6", "2"),
            ("population", "K", "28", "6"),
            ("prompts", "P", "10", "1"),
        )
    ),
)


def to_markdown(folder: Path) -> str:
    """A line for each claim and each table that it can be read from; empty if there is none."""
    lines = []
    for claim in CLAIMS:
        for name in claim.tables:
            if not (path := folder / f"{name}.csv").exists():
                continue
            with path.open(newline="") as file:
                table = list(csv.DictReader(file))
            ends = zip(claim.more.values(table), claim.less.values(table), strict=True)
            differences = [None if more is None or less is None else more - less for more, less in ends]
            if any(each is not None for each in differences[1:]):
                words = [claim.what, STREAMS.get(name, STREAMS["cifar100"]), *map(_text, differences)]
                lines.append(f"| {' | '.join(words)} |")
    head = "| difference in points | run on | paper | ours, our settings | ours, the paper's settings |"
    return "\n".join([head, "| --- | --- | ---: | ---: | ---: |", *lines]) if lines else ""


def _text(difference: float | None) -> str:
    if difference is None:
        return "–"
    return f"{difference:+.1f}".replace("-", "−") if abs(difference) >= 0.05 else "0.0"
