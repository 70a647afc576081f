"""What FoRo's HTML reports share: pages made from templates, with everything inside and for any width, and SVG."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from foro.errors import FoRoError
from foro.util.atomic_files import write_asked

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(template: str, **values: Any) -> Markup:
    """HTML from a template, named by its path in this package; every value that is not HTML itself is escaped."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent.parent),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["percent"] = percent
    return environment


def percent(share: float | None, digits: int = 0) -> str:
    """``87.7 %``; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def write_page(path: Path, html: str) -> None:
    """Writes a page, whole or not at all."""
    write_asked(path, html.encode(), "the report")


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Any:
    """An empty matplotlib figure of a size in inches, or a sentence about what to install."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise FoRoError(f'pages and pictures need {error.name}: pip install "foro[figures]"') from None
    return Figure(figsize=(width, height), layout=layout)


def svg(figure: Any, prefix: str = "") -> Markup:
    """A matplotlib figure as inline SVG; a prefix keeps the names inside it apart from those of other figures."""
    from markupsafe import Markup

    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    return Markup(re.sub(r'((?:xlink:)?href="#|id="|url\(#)', rf"\g<1>{prefix}", text) if prefix else text)
