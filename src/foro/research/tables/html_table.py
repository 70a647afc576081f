"""A table as HTML."""

from __future__ import annotations

from html import escape

from foro.research.tables.markdown import NONE, TITLES, caption, part_text
from foro.research.tables.table import Cell, Column, Footnotes, Part, Row, Section, Table


def html_table(table: Table) -> str:
    """The table with its footnotes: sections below each other, every quantity as paper, ours and difference."""
    notes = Footnotes()
    sections = "".join(_section(table, section, notes) for section in table.sections)
    lines = [f"<p>{escape(text)}.</p>" for text in caption(table)]
    lines += [f"<p><sup>{letter}</sup> {escape(text)}.</p>" for letter, text in notes.lines()]
    return f"{sections}<div class=notes>{''.join(lines)}</div>"


def _section(table: Table, section: Section, notes: Footnotes) -> str:
    title = f"<h4>{escape(section.title)}</h4>" if section.title else ""
    groups = "".join(
        f"<th class=group colspan={len(parts)} scope=colgroup>{escape(column.title)}</th>"
        for column, parts in zip(section.columns, section.parts, strict=True)
    )
    heads = "".join(f"<th scope=col>{TITLES[part]}</th>" for parts in section.parts for part in parts)
    rows = "".join(_row(row, section, notes) for row in section.rows)
    return f"""{title}<div class=scroll><table class=figures><thead><tr><th></th><th></th>{groups}</tr>
<tr><th scope=row>{escape(table.row_title)}</th><th>ours by</th>{heads}</tr></thead>
<tbody>{rows}</tbody></table></div>"""


def _row(row: Row, section: Section, notes: Footnotes) -> str:
    method = f"<code>{escape(row.ours)}</code>" if row.ours else NONE
    cells = "".join(
        _part(cell, column, part, notes.mark(cell))
        for cell, column, parts in zip(row.cells, section.columns, section.parts, strict=True)
        for part in parts
    )
    return f"<tr><th scope=row>{escape(row.label)}</th><td>{method}</td>{cells}</tr>"


def _part(cell: Cell, column: Column, part: Part, mark: str) -> str:
    kind: str = part
    if part == "difference":
        kind = ""
        if cell.difference and column.less_is_better is not None:
            kind = "good" if (cell.difference < 0) == column.less_is_better else "bad"
    return f"<td class='{kind}'>{part_text(cell, column, part, f'<sup>{mark}</sup>')}</td>"
