"""The formats in which a table is written to files, one entry each."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from foro.research.protocol.record import write_bytes
from foro.research.studies.table import Table
from foro.research.tables.draw_curves import draw_curves
from foro.research.tables.draw_table import draw_table
from foro.research.tables.markdown import to_csv, to_markdown


def to_png(table: Table) -> bytes:
    """The table as a picture: curves if it is a figure of the paper."""
    picture = io.BytesIO()
    figure = draw_curves(table) if table.axis else draw_table(table)
    figure.savefig(picture, format="png", dpi=160, metadata={"Software": None})
    return picture.getvalue()


FORMATS: dict[str, Callable[[Table], str | bytes]] = {"md": to_markdown, "csv": to_csv, "png": to_png}
"""What makes the content of a file, by the suffix of its name."""


def write_table(table: Table, folder: Path, name: str | None = None) -> list[Path]:
    """Writes the table in every format, and returns the paths of the files."""
    paths = []
    for suffix, write in FORMATS.items():
        content = write(table)
        paths.append(folder / f"{name or table.name}.{suffix}")
        write_bytes(paths[-1], content.encode() if isinstance(content, str) else content)
    return paths
