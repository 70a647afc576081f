"""What FoRo's HTML reports share: one page with everything inside, heat maps, pictures as SVG, for any width."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foro.errors import InputError

STYLE = """
:root { color-scheme: light; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1f2328; background: #f6f8fa; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 2rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; }
.card { background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .75rem 1rem; }
.card b { display: block; font-size: 1.5rem; } .card span { font-size: .85rem; color: #57606a; }
.plot { background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .5rem; }
.plot svg { display: block; width: 100%; height: auto; }
.maps table { table-layout: fixed; }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .75rem; }
figure { margin: 0; background: #fff; border: 1px solid #d0d7de; border-radius: .75rem; padding: .75rem; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
table { width: 100%; border-collapse: separate; border-spacing: 2px; font-variant-numeric: tabular-nums; }
th { font-weight: 500; font-size: .85rem; color: #57606a; white-space: nowrap; }
td { text-align: center; padding: .35rem 0; border-radius: .3rem; font-size: .9rem; }
pre { background: #1f2328; color: #e6edf3; border-radius: .75rem; padding: 1rem; overflow-x: auto; }
"""


def page(title: str, body: str, more_style: str = "") -> str:
    """A page of its own; ``body`` is HTML."""
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}{more_style}</style>
<main>
{body}
</main>
</html>
"""


def write_page(path: Path, html: str) -> None:
    """Writes a page, or says why it cannot be written."""
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written: {error.strerror}") from None


def cards(facts: Sequence[tuple[str, str]]) -> str:
    """Figures in large type, each with what it is."""
    inside = "".join(
        f"<div class=card><b>{escape(value)}</b><span>{escape(text)}</span></div>" for value, text in facts
    )
    return f"<section class=cards>{inside}</section>"


def heat_map(accuracy: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str]) -> str:
    """An accuracy matrix as a table of coloured cells, in percent; NaN is an empty cell."""
    head = "".join(f"<th scope=col>{escape(column)}</th>" for column in columns)
    body = []
    for name, values in zip(rows, accuracy, strict=True):
        cells = "".join("<td></td>" if np.isnan(value) else _cell(value) for value in values)
        body.append(f"<tr><th scope=row>{escape(name)}</th>{cells}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(value: float) -> str:
    # From pale to full green; dark cells get white text.
    ink = "#fff" if value > 0.55 else "#111"
    return f"<td style='background:hsl(140 55% {90 - 58 * value:.0f}%);color:{ink}'>{100 * value:.0f}</td>"


def svg(figure: Any, prefix: str = "") -> str:
    """A matplotlib figure as inline SVG; a prefix keeps the names inside it apart from those of other figures."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    return re.sub(r'((?:xlink:)?href="#|id="|url\(#)', rf"\g<1>{prefix}", text) if prefix else text
