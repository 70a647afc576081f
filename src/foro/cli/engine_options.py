"""Options of every command that can work on a Ray cluster."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

EngineName = Annotated[
    Literal["local", "ray"], typer.Option("--engine", help="Work in this process, or on a Ray cluster (extra ray).")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster, such as auto or HOST:PORT; default: one is started on this machine.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Workers on the Ray cluster; default: one for every four processors.")
]
GpusPerWorker = Annotated[
    float | None, typer.Option(min=0.0, help="GPUs of each worker, or a share of one; needs the torch extra.")
]
