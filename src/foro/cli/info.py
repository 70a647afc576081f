"""``foro info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foro.cli.options import BackbonePlace, Json, Model
from foro.cli.terminal import named, plain, say, say_json
from foro.errors import counted

if TYPE_CHECKING:
    from rich.console import RenderableType


def info(
    model: Model,
    events: Annotated[int, typer.Option("--log", min=0, help="How many of the latest events to show.")] = 10,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the whole file, and check that every number is what was written.")
    ] = False,
    backbone: BackbonePlace = None,
    as_json: Json = False,
) -> None:
    """What a model knows: classes with counts, backbone, settings, size, and the history of its learning.

    Examples:

        foro info pets.foro

        foro info pets.foro --log 100

        foro info pets.foro --verify

        foro info pets.foro --json | jq '.classes[].label'
    """
    from foro.verbs.reading import describe

    content = describe(model, backbone, verify)
    if as_json:
        say_json(content)
        return
    from rich.console import Console

    console = Console(soft_wrap=not Console().is_terminal)
    for name, text in _facts(content).items():
        say(f"{name:<10}{text}")
    console.print()
    console.print(_classes(content))
    if events and content["log"]:
        console.print()
        console.print(_log(content["log"], events))


def _facts(content: dict[str, Any]) -> dict[str, str]:
    from foro.backbones.source import precision_of
    from foro.verbs.reading import unusual_settings

    backbone, tokens = content["backbone"], content["prompt_tokens"]
    known, samples = counted(len(content["classes"]), "class", "classes"), counted(content["samples"], "image")
    facts = {"model": f"{content['model']}, {content['bytes'] / 1e6:,.1f} MB"}
    if content["unsaved_changes"]:
        facts["journal"] = f"{counted(content['unsaved_changes'], 'change')} that the file does not have yet"
    if content["verified"]:
        facts["verified"] = "every number is what was written"
    facts["knows"] = f"{known} from {samples}"
    if content["expected_accuracy"] is not None:
        facts["accuracy"] = f"{content['expected_accuracy']:.1%} to be expected on images of the same kind"
    if content["forgotten"]:
        facts["forgotten"] = named(content["forgotten"])
    if content["undo"]["changes"]:
        changes = "the last change" if content["undo"]["changes"] == 1 else f"the last {content['undo']['changes']}"
        facts["undo"] = f"{changes} can be taken back; {content['undo']['bytes'] / 1e6:,.1f} MB beside the model"
    facts["backbone"] = f"{backbone['name']} at {backbone['image_size']} px"
    if (precision := precision_of(backbone["fingerprint"])) != "float32":
        facts["backbone"] += f", {precision}"
    adapted = [counted(tokens, "prompt token")] * bool(tokens) + ["gains of the blocks"] * content["gains"]
    facts["adapted"] = ", ".join(adapted) or "no"
    unusual = ", ".join(f"{name} = {value}" for name, value in unusual_settings(content["settings"]).items())
    facts["settings"] = f"seed {content['seed']}; {unusual or 'all as usual'}"
    return facts


def _classes(content: dict[str, Any]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table("class", "images", "expected accuracy", "last taught", title="classes", title_justify="left")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for each in content["classes"]:
        accuracy = each["expected_accuracy"]
        shown = "" if accuracy is None else f"{accuracy:.0%}"
        table.add_row(Text(plain(each["label"])), f"{each['samples']:,}", shown, _time(each["last_taught"]))
    return table


def _log(log: list[dict[str, Any]], most: int) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table("no.", "when", "what", "images", "labels", title="history of learning", title_justify="left")
    for column in (0, 3):
        table.columns[column].justify = "right"
    if len(log) > most:
        earlier = log[:-most]
        times, samples = sum(each["times"] for each in earlier), sum(each["samples"] for each in earlier)
        table.add_row("", "…", f"{times} earlier", f"{samples:,}", "")
    for each in log[-most:]:
        what = each["what"] if each["times"] == 1 else f"{each['what']} × {each['times']}"
        names = [str(label) for label, _ in each["labels"]]
        shown = named(names[:5])
        more = f" and {each['classes'] - 5} more" if each["classes"] > 5 else ""
        table.add_row(str(each["number"]), _time(each["when"]), what, f"{each['samples']:,}", Text(plain(shown + more)))
    return table


def _time(when: str | None) -> str:
    """A time as it is stored, in the time zone of the reader, to the minute."""
    if when is None:
        return ""
    from datetime import datetime

    return datetime.fromisoformat(when).astimezone().strftime("%Y-%m-%d %H:%M")
