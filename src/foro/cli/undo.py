"""``foro undo``."""

from __future__ import annotations

from dataclasses import asdict

from foro.cli.open_model import opened
from foro.cli.options import BackbonePlace, Json, Model, Wait
from foro.cli.terminal import named, report, say_json
from foro.errors import counted


def undo(model: Model, backbone: BackbonePlace = None, wait: Wait = True, as_json: Json = False) -> None:
    """Take the last change back, whatever it was: the model is as it was before. Again for the one before.

    Earlier states are kept in MODEL.undo, beside the model, up to 512 MB, or as many as FORO_UNDO_MB says (0: none).
    They have features of images that were learned or unlearned, never images; without the folder nothing else changes.

    Examples:

        foro undo pets.foro

        FORO_UNDO_MB=2000 foro learn pets.foro pets/    # keep more of them
    """
    with opened(model, wait, backbone) as durable:
        undone = durable.undo()
        left = durable.undo_left
    learner = durable.learner
    if as_json:
        content = {"model": str(model), "undone": asdict(undone), "left": left, "labels": learner.labels}
        say_json({**content, "samples": learner.head.samples, "recovered": durable.recovered})
        return
    labels = [label for label, _ in undone.labels]
    more = f" and {undone.classes - 5} more" if undone.classes > 5 else ""
    report(f"undone    {undone.what} of {counted(undone.samples, 'image')}: {named(labels[:5])}{more}")
    report(f"left      {counted(left, 'more change', 'more changes')} that can be taken back")
    known = counted(len(learner.labels), "class", "classes")
    report(f"{model} knows {known} from {counted(learner.head.samples, 'image')}")
