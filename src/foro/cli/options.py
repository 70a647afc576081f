"""Options that several commands share, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DONE, SKIPPED, MISTAKE, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = (
    "Exit codes: 0 all went well, 1 done but some images could not be read and were skipped, 2 nothing was done "
    "because something is wrong with what was given, 130 interrupted."
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.", show_default=False)]
NewModel = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The model file; made if there is none.", show_default=False)
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A folder of class folders, or a .csv, .tsv or .jsonl file with path and label."
    ),
]
BackbonePlace = Annotated[
    str | None, typer.Option("--backbone", help="Where the model's backbone is, if not where it was.")
]
NewBackbone = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        help="Of a new model: nano, a full timm name or a folder with a checkpoint. Of one that is there: where its "
        "backbone is, if not where it was.",
        show_default="nano",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at the first image that cannot be read, instead of skipping it.")
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait while another process changes the model, or give up at once.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
