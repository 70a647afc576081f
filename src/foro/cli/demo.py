"""``foro demo``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foro.cli.terminal import rate, say_json
from foro.errors import FoRoError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from foro.verbs.digits_demo import DemoResult


def demo(
    seed: Annotated[int, typer.Option(help="Seed of the data split, the projection and the evolution.")] = 0,
    report: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("report.html"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Watch a classifier learn ten digits, two at a time, without forgetting. About a minute, offline.

    Examples:

        foro demo

        foro demo --seed 1 --report /tmp/report.html

        foro demo --json
    """
    missing = [name for name in ("matplotlib", "sklearn") if find_spec(name) is None]
    if missing:
        raise FoRoError(f'the demonstration needs {" and ".join(missing)}: pip install "foro[demo]"')
    from rich.console import Console
    from rich.live import Live

    from foro.verbs.demo_report import write_report
    from foro.verbs.digits_demo import DemoResult, run_demo

    console = Console(quiet=as_json)
    result = DemoResult(seed)
    with Live(_table(result), console=console, refresh_per_second=4, transient=False) as live:
        for result in run_demo(seed):
            live.update(_table(result))
    write_report(result, report)
    if as_json:
        say_json({**result.summary(), "report": str(report)})
        return
    console.print()
    console.print(_ending(result, report))


def _table(result: DemoResult) -> RenderableType:
    """A row for each task that was learned: accuracy on every task so far, and the averages of all three learners."""
    from rich.table import Table

    from foro.verbs.digits_demo import LEARNERS, TASKS

    table = Table(title="Ten handwritten digits, two at a time; accuracy in %", caption=_caption(result))
    table.add_column("learned", justify="left")
    for digits in TASKS:
        table.add_column(" ".join(map(str, digits)), justify="right")
    table.add_column("FoRo\naverage", justify="right", style="bold green")
    table.add_column("forgot", justify="right", style="green")
    table.add_column("newest task\nonly", justify="right", style="red")
    table.add_column("all data\nat once", justify="right", style="blue")
    for now in range(result.done):
        part = result.after(now)
        cells = ["" if task > now else f"{100 * part.accuracy['FoRo'][now, task]:.0f}" for task in range(len(TASKS))]
        averages = [f"{100 * part.average(name):.1f}" for name in LEARNERS]
        forgot = f"{100 * part.forgetting('FoRo'):.1f}"
        table.add_row(f"+ {' '.join(map(str, TASKS[now]))}", *cells, averages[0], forgot, *averages[1:])
    return table


def _caption(result: DemoResult) -> str:
    from foro.verbs.digits_demo import TASKS

    done, total = result.done, len(TASKS)
    return "" if done == total else f"{'━' * (6 * done)}{'─' * (6 * (total - done))} task {done + 1} of {total}"


def _ending(result: DemoResult, report: Path) -> RenderableType:
    from rich.panel import Panel

    from foro.verbs.demo_report import SNIPPET

    numbers: dict[str, Any] = result.summary()
    lines = [
        f"final accuracy   [bold green]{numbers['accuracy']:.1f} %[/]  "
        f"(all data at once {numbers['joint_accuracy']:.1f} %, newest task only {numbers['newest_accuracy']:.1f} %)",
        f"forgetting       [bold green]{numbers['forgetting']:.1f}[/] points  "
        f"(newest task only {numbers['newest_forgetting']:.1f} points)",
        f"speed            {rate(numbers['images_per_second'])}, without a GPU or torch",
        f"peak memory      {numbers['peak_megabytes'] or float('nan'):.0f} MB",
        f"report           {report}",
        "",
        "The same on your own folder of images (one sub-folder a class):",
        "",
        *(f"  [cyan]{line}[/]" for line in SNIPPET.replace("[", "\\[").splitlines()),
    ]
    return Panel("\n".join(lines), title="FoRo", expand=False)
