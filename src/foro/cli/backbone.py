"""``foro backbone``: the frozen vision transformers that a model can be built on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foro.cli.options import Json
from foro.cli.terminal import rate, say, say_json

app = typer.Typer(
    help="Backbones: list them, get one, and see what it is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="nano, a full timm name, or a folder with a checkpoint.", show_default=False),
]


@app.command("list")
def list_(
    containing: Annotated[
        str, typer.Argument(metavar="TEXT", help="Only names that contain this.", show_default=False)
    ] = "",
    here: Annotated[bool, typer.Option("--here", help="Only those that need no download.")] = False,
    as_json: Json = False,
) -> None:
    """Backbones with size, input, speed and place, recommended ones first. Other plain ViTs of timm work by name, too.

    Examples:

        foro backbone list

        foro backbone list tiny

        foro backbone list --here --json
    """
    from dataclasses import asdict

    from foro.backbones.inventory import PLACES, inventory

    found = [each for each in inventory(containing) if not here or each.place != "hub"]
    if as_json:
        say_json([asdict(each) for each in found])
        return
    width = max((len(each.name) for each in found), default=0)
    for recommended, heading in ((True, "recommended"), (False, "others")):
        mine = [each for each in found if each.recommended == recommended]
        if mine:
            say(f"{heading:<{width}}  {'parameters':>10}  {'input':>6}  {'speed':<9}  weights")
        for each in mine:
            size, side = f"{each.parameters / 1e6:.1f} M", f"{each.image_size} px"
            say(f"{each.name:<{width}}  {size:>10}  {side:>6}  {each.speed:<9}  {PLACES[each.place]}")


@app.command("pull")
def pull(name: Name, as_json: Json = False) -> None:
    """Download a backbone, build it, and verify on images that it computes as it should.

    Examples:

        foro backbone pull vit_tiny_patch16_224.augreg_in21k_ft_in1k
    """
    from foro.backbones.inventory import verify

    verified = verify(name)
    if as_json:
        say_json({"place": verified.place, **verified.facts, "images_per_second": verified.images_per_second})
        return
    _show(verified.facts, verified.place)
    say(f"verified     runs {rate(verified.images_per_second)} here")


@app.command("info")
def info(name: Name, as_json: Json = False) -> None:
    """What a backbone is: size, input, preprocessing and the fingerprint of its weights. Downloads nothing.

    Examples:

        foro backbone info nano
    """
    from foro.backbones.catalog import load_checkpoint
    from foro.backbones.inventory import describe, place_of
    from foro.errors import BackboneError

    place = place_of(name)
    if place == "hub":
        raise BackboneError(f"{name} is not on this computer: get it by foro backbone pull {name}")
    facts = describe(load_checkpoint(name))
    if as_json:
        say_json({"place": place, **facts})
    else:
        _show(facts, place)


def _show(facts: dict[str, Any], place: Any) -> None:
    from foro.backbones.inventory import PLACES

    how = facts["preprocessing"]
    say(f"backbone     {facts['name']}, {PLACES[place]}")
    say(f"size         {facts['parameters'] / 1e6:.1f} million parameters, {4 * facts['parameters'] / 1e6:.0f} MB")
    say(f"layers       {facts['layers']}, width {facts['width']}, {facts['heads']} heads")
    say(f"input        {facts['image_size']} px, patches of {facts['patch_size']}")
    say(f"preparation  {how['crop_mode']} crop of {how['crop_pct']:g}, {how['interpolation']}")
    say(f"fingerprint  {facts['fingerprint']}")
