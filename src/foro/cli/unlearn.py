"""``foro unlearn``."""

from __future__ import annotations

from foro.cli.open_model import end, opened, tell_doubts
from foro.cli.options import BackbonePlace, Data, Json, Model, Strict, Wait
from foro.cli.terminal import named, report, say_json
from foro.errors import counted


def unlearn(
    model: Model,
    data: Data,
    backbone: BackbonePlace = None,
    strict: Strict = False,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Take the influence of these very images back, exactly: as if they had never been learned.

    They must have been learned, with these labels. A class with no image left is no longer known.

    Examples:

        foro unlearn pets.foro mistakes/        # mistakes/cat/7.jpg, which was no cat

        foro unlearn pets.foro withdrawn.csv --strict
    """
    from foro.images.labelled import check_labelled
    from foro.verbs.teach import unteach

    check_labelled(data)
    with opened(model, wait, backbone) as durable:
        before = durable.learner.labels
        taught = unteach(durable, data, strict=strict)
    gone = [label for label in before if label not in durable.learner.labels]
    if as_json:
        left = ("samples", "labels", "seconds", "skipped", "passed_over", "notes")
        content = {name: value for name, value in taught.as_dict().items() if name in left}
        more = {"gone": gone, "classes": len(durable.learner.labels), "recovered": durable.recovered}
        say_json({"model": str(model), **content, **more})
    else:
        tell_doubts(taught.passed_over, taught.notes)
        images, classes = counted(taught.samples, "image"), counted(len(taught.labels), "class", "classes")
        report(f"unlearned {images} of {classes} in {taught.seconds:.1f} s")
        if gone:
            report(f"no longer known: {named(gone)}")
    end(taught.skipped, listed=not as_json)
