"""``foro learn``."""

import time
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from foro.cli.open_model import end, first_of, opened, tell_doubts
from foro.cli.options import (
    Json,
    NewBackbone,
    NewModel,
    Portable,
    Strict,
    Wait,
    chosen_engine,
    options_of,
    with_options_of,
)
from foro.cli.terminal import duration, named, rate, report, say, say_json, tell
from foro.config import CHUNK, HELD_OUT, PRESETS, LearnerConfig, Preset, parse_settings
from foro.errors import counted

if TYPE_CHECKING:
    from foro.engine import Engine
    from foro.learner import Learner
    from foro.verbs.cost import Cost
    from foro.verbs.teach import Plan, Taught

LONG = 10.0
"""Seconds from which on a lesson says beforehand what it will cost."""

SHORT = 0.05
"""Seconds of a part of a lesson that is not worth a word."""


def _settings(shown: bool) -> None:
    """Every setting with what it does."""
    if not shown:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("setting", "default", "what it does", title="settings for --set name=value", title_justify="left")
    for each in fields(LearnerConfig):
        table.add_row(each.name, str(each.default), each.metadata["help"])
    Console().print(table)
    raise typer.Exit


@with_options_of(options_of(LearnerConfig, of_new_model=True), into="flags")
@with_options_of(chosen_engine, into="engine")
def learn(
    model: NewModel,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A folder of class folders; a .csv, .tsv or .jsonl file with path and label; or - for JSON lines "
            "from the standard input, learned as they come.",
            show_default=False,
        ),
    ],
    flags: dict[str, Any],
    backbone: NewBackbone = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="Settings of a new model: adapt also evolves gains of the backbone in the first lesson, paper has "
            "every value of the paper.",
            show_default=next(iter(PRESETS)),
        ),
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Side of a new model's input in pixels, if not the backbone's own.")
    ] = None,
    precision: Annotated[
        Literal["float32", "int8"] | None,
        typer.Option(
            help="Of a new model's backbone: int8 computes about 1.4 times as fast at 224 pixels if the processor has "
            "instructions for it (VNNI), for hardly any accuracy; at smaller sizes or without them it does not pay.",
            show_default="float32",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of a new model's projection, search and held-out images.", show_default="0")
    ] = None,
    settings: Annotated[
        list[str], typer.Option("--set", help="A setting of a new model as name=value; may be repeated.")
    ] = [],  # noqa: B006  typer's way of an option that may be repeated
    list_settings: Annotated[
        bool,
        typer.Option("--settings", callback=_settings, is_eager=True, help="List the settings for --set and exit."),
    ] = False,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Make a new model that can later be merged with this one: same backbone, prompt, projection."
        ),
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(min=0.0, max=0.5, help="Share of the images that the accuracy is measured on; 0: not measured."),
    ] = HELD_OUT,
    chunk: Annotated[
        int, typer.Option(min=1, help="With DATA -: images that are learned, and safe on the disk, together.")
    ] = CHUNK,
    again: Annotated[
        bool, typer.Option("--again", help="Also learn images that were learned before: they get more weight.")
    ] = False,
    relabel: Annotated[
        bool, typer.Option("--relabel", help="Give images that were learned with another label the one of DATA.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be learned, skipped and new, and learn nothing.")
    ] = False,
    portable: Portable = False,
    strict: Strict = False,
    wait: Wait = True,
    engine: "Engine | None" = None,
    as_json: Json = False,
) -> None:
    """Learn images: new classes, or more of old ones. Nothing that was learned before is lost, or learned twice.

    Add pictures to a folder and teach it again: those that are known are left out. One that was learned with another
    label is named; --relabel corrects it, exactly as if it had never had the other.

    All of DATA is learned or nothing: a crash at any moment leaves the model as it was before or as it is after. A
    tenth of the images, evenly over the classes and at most 1000, is first used to measure the accuracy before and
    after the others are learned, and then learned too.

    Examples:

        foro learn pets.foro pets/                       # pets/cat/1.jpg, pets/dog/2.jpg, …

        foro learn pets.foro pets/ --dry-run             # look before you learn

        foro learn pets.foro parrots.csv                 # next week: path,label on each line

        foro learn pets.foro corrected/ --relabel        # pictures that had the wrong label

        foro learn birds.foro birds/ --backbone vit_tiny_patch16_224.augreg_in21k_ft_in1k

        foro learn north.foro north/ --like south.foro   # taught elsewhere, merged later

        camera | foro learn door.foro -    # {"path": "1.jpg", "label": "open"}

        foro learn birds.foro birds/ --engine ray --address auto --workers 8 --gpus-per-worker 1
    """
    from foro.images.labelled import check_labelled
    from foro.verbs.reading import load_learner
    from foro.verbs.recipe import Recipe
    from foro.verbs.teach import STREAM, plan, teach

    if data != STREAM:
        check_labelled(data)
    given = {**parse_settings(settings), **flags}
    recipe = Recipe(backbone, preset, image_size, seed, like, precision, given)
    if dry_run:
        there = load_learner(model, backbone)
        if there is not None:
            recipe.check(there, model)
        planned = plan(data, there, strict=strict, again=again, relabel=relabel)
        say_json({"model": str(model), **planned.as_dict()}) if as_json else _show_plan(model, planned)
        end(planned.skipped, listed=not as_json)
        return
    made: list[Learner] = []

    def create() -> "Learner":
        made.append(recipe.create())
        return made[0]

    with opened(model, wait, backbone, create) as durable:
        recipe.check(durable.learner, model)
        if portable:
            durable.learner.make_portable()
        durable.learner.engine = engine
        how: dict[str, Any] = {"strict": strict, "held_out": held_out, "chunk": chunk}
        taught = teach(durable, data, **how, again=again, relabel=relabel, announce=_announce)
        ended = time.perf_counter()
    taught = replace(taught, parts={**taught.parts, "saving": time.perf_counter() - ended})
    learner = durable.learner
    if as_json:
        content = {"model": str(model), **taught.as_dict(), "classes": len(learner.labels)}
        say_json({**content, "recovered": durable.recovered})
    else:
        _show(model, taught, learner, held_out)
        if made and backbone is None and like is None:
            _recommend()
    end(taught.skipped, listed=not as_json)


def _show_plan(model: Path, planned: "Plan") -> None:
    tell_doubts(planned.passed_over, planned.notes)
    images, classes = counted(sum(planned.counts.values()), "image"), counted(len(planned.counts), "class", "classes")
    say(f"{model} would learn {f'{images} of {classes}:' if planned.counts else 'nothing new'}")
    for label, count in planned.counts.items():
        say(f"  {label}: {counted(count, 'image')}{', a new class' if label in planned.new_labels else ''}")
    for number, what in ((planned.known, "already known"), (planned.relabelled, "would be relabelled")):
        if number:
            say(f"{what}: {counted(number, 'image')}")
    _tell_other_labels(planned, "would be left so")


def _announce(cost: "Cost") -> None:
    """Says what a lesson will cost, unless it will be over soon."""
    if cost.seconds < LONG:
        return
    adaptation = f", {duration(cost.adaptation)} for an adaptation" if cost.adaptation else ""
    tell(f"{counted(cost.images, 'image')} to read, then about {duration(cost.features)} for features{adaptation}")


def _recommend() -> None:
    """Says once, of a new model with the embedded backbone, that there are better ones, and how to take one."""
    from foro.backbones.inventory import RECOMMENDED
    from foro.backbones.timm_table import timm_vits

    lines = []
    for name in RECOMMENDED[1:4]:
        parameters = timm_vits()[name.partition(".")[0]]["parameters"]
        lines.append(f"--backbone {name}  ({4 * parameters / 1e6:.0f} MB, downloaded once)")
    tell("this model has nano, which is small and fast; a new one with a larger backbone is more often right:", lines)


def _show(model: Path, taught: "Taught", learner: "Learner", held_out: float) -> None:
    tell_doubts(taught.passed_over, taught.notes)
    images, classes = counted(taught.samples, "image"), counted(len(taught.labels), "class", "classes")
    took = f"{taught.seconds:.1f} s"
    if taught.samples:
        report(f"learned   {images} of {classes} in {took} ({rate(taught.samples / taught.seconds)})")
    else:
        report(f"learned   nothing new in {took}")
    parts = [f"{name} {seconds:.1f} s" for name, seconds in taught.parts.items() if seconds >= SHORT]
    if parts:
        report(f"time      {', '.join(parts)}")
    if taught.known:
        report(f"already known  {counted(taught.known, 'image')}")
    if taught.relabelled:
        report(f"relabelled  {counted(taught.relabelled, 'image')}")
    if taught.new_labels:
        report(f"new       {named(taught.new_labels)}")
    _tell_other_labels(taught, "left so")
    if taught.samples:
        _report_accuracy(taught, learner, held_out)
    if taught.expected_accuracy is not None:
        report(f"expected  {taught.expected_accuracy:.1%} on new images of all classes")
    known = counted(len(learner.labels), "class", "classes")
    report(f"{model} knows {known} from {counted(learner.head.samples, 'image')}")


def _report_accuracy(taught: "Taught", learner: "Learner", held_out: float) -> None:
    from foro.images.samples import FEWEST_HELD_OUT

    if len(learner.labels) == 1:
        report("accuracy  not measured: there is one class, and every answer would be right")
    elif taught.accuracy_after is None:
        too_few = f"too few images to hold {held_out:.0%} of them out and measure on at least {FEWEST_HELD_OUT}"
        report(f"accuracy  not measured: {too_few if held_out else 'with --held-out 0 no image is held out'}")
    else:
        before = "not known before" if taught.accuracy_before is None else f"{taught.accuracy_before:.1%} before"
        images = counted(taught.held_out, "image")
        report(f"accuracy  {before}, {taught.accuracy_after:.1%} after, on {images} of this lesson that were held out")


def _tell_other_labels(found: "Taught | Plan", left: str) -> None:
    if not found.other_label:
        return
    known = counted(len(found.other_label), "image was", "images were")
    tell(
        f"{known} learned before with another label and {left}; --relabel gives the new one:",
        first_of([f"{each.image}: {each.known_as}, now {each.label}" for each in found.other_label]),
    )
