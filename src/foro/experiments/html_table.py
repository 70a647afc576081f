"""A table as HTML."""

from __future__ import annotations

from html import escape

from foro.experiments.markdown import NONE, caption, difference_text
from foro.experiments.table import Cell, Column, Footnotes, Row, Section, Table


def html_table(table: Table) -> str:
    """The table with its footnotes: sections below each other, every quantity as paper, ours and difference."""
    notes = Footnotes()
    sections = "".join(_section(table, section, notes) for section in table.sections)
    lines = [f"<p>{escape(text)}.</p>" for text in caption(table)]
    lines += [f"<p><sup>{letter}</sup> {escape(text)}.</p>" for text, letter in notes.letters.items()]
    return f"{sections}<div class=notes>{''.join(lines)}</div>"


def _section(table: Table, section: Section, notes: Footnotes) -> str:
    title = f"<h4>{escape(section.title)}</h4>" if section.title else ""
    groups = "".join(f"<th class=group colspan=3 scope=colgroup>{escape(each.title)}</th>" for each in section.columns)
    heads = "<th scope=col>paper</th><th scope=col>ours</th><th scope=col>diff.</th>" * len(section.columns)
    rows = "".join(_row(row, section.columns, notes) for row in section.rows)
    return f"""{title}<div class=scroll><table class=figures><thead><tr><th></th><th></th>{groups}</tr>
<tr><th scope=row>{escape(table.row_title)}</th><th>ours by</th>{heads}</tr></thead>
<tbody>{rows}</tbody></table></div>"""


def _row(row: Row, columns: tuple[Column, ...], notes: Footnotes) -> str:
    method = f"<code>{escape(row.ours)}</code>" if row.ours else NONE
    cells = "".join(_cell(cell, column, notes) for cell, column in zip(row.cells, columns, strict=True))
    return f"<tr><th scope=row>{escape(row.label)}</th><td>{method}</td>{cells}</tr>"


def _cell(cell: Cell, column: Column, notes: Footnotes) -> str:
    paper = cell.paper.text(column.digits) if cell.paper else NONE
    mark = notes.mark(cell)
    ours = f"{cell.ours.text(column.digits)}<sup>{mark}</sup>" if cell.ours else NONE
    kind = ""
    if cell.difference and column.less_is_better is not None:
        kind = "good" if (cell.difference < 0) == column.less_is_better else "bad"
    return (
        f"<td class=paper>{paper}</td><td class=ours>{ours}</td><td class='{kind}'>{difference_text(cell, column)}</td>"
    )
