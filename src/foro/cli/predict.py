"""``foro predict``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foro.cli.open_model import end, tell_doubts
from foro.cli.options import BackbonePlace, Model, Strict
from foro.cli.terminal import plain, say, say_answer, say_json, say_row
from foro.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from foro.images.unreadable import UnreadableImage
    from foro.snapshot import Prediction

Answers = list[dict[str, Any]]
Form = Callable[[str, Answers, str | None], None]
"""Prints the line for an image: its answers, or what is wrong with it."""

UNKNOWN = "unknown"
UNKNOWN_AT = 0.5
WIDEST = 60
"""Columns for the path on a terminal."""


def predict(
    model: Model,
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGES",
            help='Images, folders, patterns such as "photos/**/*.jpg", or - for paths from the standard input.',
            show_default=False,
        ),
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of most likely labels for each image.")] = 1,
    unknown_below: Annotated[
        float, typer.Option(min=0.0, max=1.0, help=f'Answer "{UNKNOWN}" where the confidence is below this.')
    ] = 0.0,
    unknown_at: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help=f'Answer "{UNKNOWN}" where the chance of no known class is at least this; 1: never.'
        ),
    ] = UNKNOWN_AT,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object on a line for each image.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a CSV table.")] = False,
    backbone: BackbonePlace = None,
    strict: Strict = False,
) -> None:
    """The most likely label of each image, and how sure the model is.

    Of many answers with 80 % confidence, about 80 % are right: foro evaluate shows how well that holds. An image that
    is more likely of no known class than of any is "unknown", and its confidence is that chance, which is set so that
    about 95 % of images of known classes keep their label, or more where unknown ones are easy to tell. Answers come
    in the order of the images, as soon as they are there; without a terminal, with tabs between path, label and
    confidence.

    Examples:

        foro predict pets.foro who.jpg

        foro predict pets.foro photos/ --top 3

        foro predict pets.foro "photos/**/*.jpg" --csv > answers.csv

        find photos -name "*.jpg" | foro predict pets.foro - --json | jq .label

        foro predict pets.foro door.jpg --unknown-at 0.3
    """
    from foro.images.paths import Found, find_images, paths_in
    from foro.snapshot import BATCH
    from foro.util.progress import progress_bar
    from foro.verbs.reading import load_snapshot

    if as_json and as_csv:
        raise InputError("choose one of --json and --csv")
    streamed = images == ["-"]
    among = Found() if streamed else find_images(images)
    found = among.images
    snapshot = load_snapshot(model, backbone)
    terminal = sys.stdout.isatty()
    form = _as_json if as_json else _as_csv if as_csv else _aligned(found) if terminal else _tabbed
    if as_csv:
        say_row(["image", *_headings(min(top, len(snapshot.labels))), "error"])
    asked: Iterable[Path] = paths_in(sys.stdin) if streamed else found
    predictions = snapshot.predict_each(asked, strict, 1 if streamed else BATCH)
    bar = nullcontext(lambda _more: None) if terminal or streamed else progress_bar("predicting", len(found))
    with bar as advance:
        skipped = _print(predictions, form, top, unknown_below, unknown_at, advance)
    tell_doubts(among.passed_over, ())
    end(skipped, listed=not as_json)


def _print(
    predictions: Iterator[Prediction],
    form: Form,
    top: int,
    unknown_below: float,
    unknown_at: float,
    advance: Callable[[int], None],
) -> list[UnreadableImage]:
    """Prints the predictions; returns the images that could not be read."""
    bad: list[UnreadableImage] = []
    answered = 0
    for each in predictions:
        best = each.top(top)
        answers: Answers = [{"label": label, "confidence": round(sure, 6)} for label, sure in best]
        chance = None if each.unknown is None else round(each.unknown, 6)
        if best and chance is not None and unknown_at <= chance and unknown_at < 1:
            rest = [{"label": label, "confidence": round((1 - chance) * sure, 6)} for label, sure in best[: top - 1]]
            answers = [{"label": UNKNOWN, "confidence": chance, "known": False}, *rest]
        elif best and best[0][1] < unknown_below:
            answers = [{**answers[0], "label": UNKNOWN, "known": False}]
        if answers:
            answers[0]["unknown"] = chance
        form(str(each.image), answers, each.unreadable.reason if each.unreadable else None)
        if each.unreadable is None:
            answered += 1
        else:
            bad.append(each.unreadable)
        advance(1)
    if not answered:
        first = bad[0].reason if bad else "no image was named"
        raise InputError(
            first if len(bad) <= 1 else f"none of the {len(bad)} images can be read, the first because {first}"
        )
    return bad


def _as_json(image: str, answers: Answers, error: str | None) -> None:
    if error is not None:
        say_json({"image": image, "error": error})
    else:
        say_json({"image": image, **answers[0], **({"top": answers} if len(answers) > 1 else {})})


def _as_csv(image: str, answers: Answers, error: str | None) -> None:
    say_row([image, *_cells(answers), error or ""])


def _tabbed(image: str, answers: Answers, error: str | None) -> None:
    if error is None:
        say(image, *_cells(answers))


def _aligned(images: list[Path]) -> Form:
    """For people: paths in a column, and the answers beside them."""
    width = min(WIDEST, max((len(plain(image)) for image in images), default=0))

    def form(image: str, answers: Answers, error: str | None) -> None:
        if error is None:
            first, *others = (f"{each['label']} {100 * each['confidence']:.1f} %" for each in answers)
            say_answer(f"{plain(image):<{width}}  ", first, "".join(f", {each}" for each in others))

    return form


def _cells(answers: Answers) -> list[object]:
    return [cell for each in answers for cell in (each["label"], f"{each['confidence']:.4f}")]


def _headings(top: int) -> list[str]:
    later = [name for number in range(2, top + 1) for name in (f"label_{number}", f"confidence_{number}")]
    return ["label", "confidence", *later]
