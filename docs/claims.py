"""Our claim and the paper's, and what was measured here, read from the tables of the runs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import t as student

CLAIM = (
    "*Without a gradient, FoRo is at least as accurate as RanPAC with back-propagation, at a fraction of its time and "
    "memory.*"
)
SURE = 0.95
"""A difference is clear if the interval of this level around it, by Student's t over the seeds, does not contain 0."""

STREAMS = {
    "cifar100": "CIFAR-100, nano",
    "cub200": "CUB-200, nano",
    "paper-112": "CIFAR-100, ViT-Ti at 112 px",
    "paper-cub": "CUB-200, ViT-Ti at 224 px",
    "paper-224": "CIFAR-100, ViT-Ti at 224 px",
}


@dataclass(frozen=True)
class Measured:
    """A number of a table: its mean over seeds, and its deviation, which of a paired difference is its error."""

    mean: float
    deviation: float | None
    seeds: int

    @property
    def clear(self) -> bool:
        """Whether it is not 0, for a paired difference."""
        if not self.deviation:  # one seed, or seeds that agree
            return self.deviation is not None and self.mean != 0
        return abs(self.mean) > self.deviation * float(student.ppf((1 + SURE) / 2, self.seeds - 1))

    def text(self) -> str:
        """``+0.4 ± 0.21``."""
        return _text(self.mean) + (f" ± {self.deviation:.2f}" if self.deviation is not None else "")


@dataclass(frozen=True)
class Stream:
    """What a headline table has of one stream: quantities of methods, by both names."""

    title: str
    cells: dict[tuple[str, str], Measured]

    def ratio(self, method: str, quantity: str) -> float | None:
        """What a method takes of what RanPAC takes."""
        ours, theirs = self.cells.get((method, quantity)), self.cells.get(("ranpac", quantity))
        return ours.mean / theirs.mean if ours and theirs else None

    def difference(self, more: str, less: str) -> float | None:
        """By how much one method is more accurate than another, for the same seeds."""
        first, second = self.cells.get((more, "A")), self.cells.get((less, "A"))
        return first.mean - second.mean if first and second and first.seeds == second.seeds else None


def read_streams(tables: Iterable[tuple[str, Path]]) -> list[Stream]:
    """The streams of headline tables, given their titles and CSV files."""
    streams: dict[str, Stream] = {}
    for title, path in tables:
        with path.open(newline="") as file:
            for cell in csv.DictReader(file):
                if cell["ours"]:
                    name = f"{title}, {cell['section'].rpartition(', ')[2]}"
                    spread = float(cell["ours_deviation"]) if cell["ours_deviation"] else None
                    value = Measured(float(cell["ours"]), spread, int(cell["seeds"]))
                    streams.setdefault(name, Stream(name, {})).cells[cell["method"], cell["quantity"]] = value
    return list(streams.values())


def findings(tables: Iterable[tuple[str, Path]]) -> str:
    """Our claim, whether it holds, and by how much; then what else the headline tables say."""
    streams = read_streams(tables)
    compared = [each for each in streams if ("foro", GAIN) in each.cells or ("kem", GAIN) in each.cells]
    if not compared:
        said = [f"- {text}" for text in _differences(streams)]
        return "\n".join(
            [f"The claim: {CLAIM} Nothing was run yet that could show it.", *([""] if said else []), *said]
        )
    lines = [f"The claim: {CLAIM}", ""]
    lines += [f"- {text}" for method in ("foro", "kem") if (text := _verdict(method, compared))]
    lines += [f"- {text}" for text in _differences(streams)]
    lines += [
        "",
        "| stream | seeds | foro − ranpac | kem − ranpac | foro: time, memory | kem: time, memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for stream in compared:
        gains = [stream.cells.get((method, GAIN)) for method in ("foro", "kem")]
        seeds = max(each.seeds for each in gains if each)
        words = [stream.title, str(seeds), *(each.text() if each else "–" for each in gains)]
        for method in ("foro", "kem"):
            ratios = [stream.ratio(method, quantity) for quantity in COSTS]
            words.append(", ".join("–" if each is None else f"{each:.2f} ×" for each in ratios))
        lines.append(f"| {' | '.join(words)} |")
    lines += [
        "",
        "Points of A over pairs of runs with the same seed, ± standard error; time (CPU seconds of learning) and "
        "memory (peak) as multiples of RanPAC's. A difference is called clear if its "
        f"{100 * SURE:.0f} % interval by Student's t does not contain 0; with one seed nothing is.",
    ]
    return "\n".join(lines)


GAIN = "A − ranpac"
COSTS = ("CPU seconds", "MB")


def _verdict(method: str, streams: Sequence[Stream]) -> str:
    """Whether the claim holds for a method, in one sentence; empty if it was not run."""
    gains = [gain for each in streams if (gain := each.cells.get((method, GAIN)))]
    if not gains:
        return ""
    worse = sum(each.clear and each.mean < 0 for each in gains)
    better = sum(each.clear and each.mean > 0 for each in gains)
    level = sum(each.mean >= 0 for each in gains)
    single = sum(each.seeds == 1 for each in gains)
    said = f"at least as accurate as RanPAC on {level} of {len(gains)} streams, clearly more on {better}, "
    said += f"clearly less on {worse}" + (f" ({single} with one seed only, which is never clear)" if single else "")
    costs = []
    for name, quantity in zip(("time", "memory"), COSTS, strict=True):
        ratios = [ratio for each in streams if (ratio := each.ratio(method, quantity)) is not None]
        said += f"; {_span(ratios, '.2f')} × its {name}" if ratios else f"; its {name} was not measured"
        costs += ratios
    if worse or max(costs, default=0) > 1:
        verdict = "does not hold"
    elif level == len(gains) and costs and single < len(gains):
        verdict = "holds"
    else:
        verdict = "is open"
    about = {"foro": "with gains evolved on the first task", "kem": "nothing evolved, as `foro learn` works"}[method]
    return f"`{method}`, {about}: the claim **{verdict}**: {said}."


def _differences(streams: Sequence[Stream]) -> list[str]:
    """Ranges of what single choices bring, over the streams that have both methods."""
    said = []
    for what, more, less in (
        ("Reading tokens of several layers instead of the last CLS", "kem", "kem-cls"),
        ("Evolving gains on the first task", "foro", "kem"),
        ("γ by cross-validation and our readout instead of the paper's encoder", "kem", "kem-paper"),
        ("The paper's Algorithm 1 over its own encoder", "foro-paper", "kem-paper"),
    ):
        found = [each for stream in streams if (each := stream.difference(more, less)) is not None]
        if found:
            count = f"{len(found)} streams" if len(found) > 1 else "one stream"
            said.append(f"{what} (`{more}` less `{less}`): {_span(found, '+.1f')} points on {count}.")
    return said


def _span(numbers: Sequence[float], form: str) -> str:
    """``0.2 to 0.4``, or one number."""
    ends = dict.fromkeys(format(each, form).replace("-", "−") for each in (min(numbers), max(numbers)))
    return " to ".join(ends)


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
