"""``foro evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foro.cli.open_model import end, tell_doubts
from foro.cli.options import BackbonePlace, Data, Json, Model, Strict
from foro.cli.terminal import named, say, say_json, tell
from foro.errors import counted

if TYPE_CHECKING:
    from foro.evaluation import Evaluation


def evaluate(
    model: Model,
    data: Data,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with the confusion matrix, the calibration and all classes.")
    ] = None,
    confusion: Annotated[
        Path | None, typer.Option(help="Write the confusion matrix as a picture: .png, .svg or .pdf.")
    ] = None,
    backbone: BackbonePlace = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """How well a model does on labelled images, for each class, and whether it is as sure as it is right.

    The images should not be those that were learned. One whose label the model does not know counts as wrong.
    The most likely label of each is what counts, even where foro predict says "unknown".

    Examples:

        foro evaluate pets.foro pets-test/

        foro evaluate pets.foro pets-test.csv --html report.html

        foro evaluate pets.foro pets-test/ --json | jq .accuracy
    """
    from foro.images.labelled import read_labelled
    from foro.util.html import new_figure
    from foro.verbs.reading import load_snapshot

    if html or confusion:
        new_figure(1, 1)  # says what is missing now, not after all images
    samples = read_labelled(data)
    found = load_snapshot(model, backbone).evaluate(samples.images, samples.labels, strict)
    if html is not None:
        from foro.evaluation.evaluation_page import write_evaluation

        write_evaluation(found, model.name, Path(data).name, html)
    if confusion is not None:
        from foro.evaluation.pictures import save_confusion

        save_confusion(found, confusion)
    if as_json:
        say_json({"model": str(model), "data": data, **found.as_dict()})
    else:
        tell_doubts(samples.passed_over, samples.notes)
        _show(found)
        for path in (html, confusion):
            if path is not None:
                say(f"written       {path}")
    end(found.bad, listed=not as_json)


def _show(found: Evaluation) -> None:
    right, sure = int(found.right.sum()), float(found.confidence.mean())
    say(f"accuracy      {found.accuracy:.1%} ({right} of {counted(len(found), 'image')})")
    say(f"classes       {found.class_accuracy:.1%} on average over {counted(found.tested_classes, 'class', 'classes')}")
    say(f"confidence    {sure:.1%} on average; expected calibration error {found.calibration_error:.1%}")
    worst = sorted((each for each in found.classes if each.accuracy is not None), key=lambda each: each.accuracy or 0.0)
    for number, each in enumerate(worst[:5]):
        if each.accuracy is not None and each.accuracy < 1:
            heading = "hardest" if number == 0 else ""
            say(f"{heading:<14}{each.label} {each.accuracy:.0%} of {counted(each.images, 'image')}")
    for number, (true, answer, count) in enumerate(found.confused()):
        say(f"{'mistakes' if number == 0 else '':<14}{true} taken for {answer}, {count} ×")
    if found.unknown:
        images = counted(sum(found.unknown.values()), "image")
        tell(f"{images} of labels that the model does not know count as wrong: {named(list(found.unknown))}")
