"""Pages of the site that are made from what they describe: commands, public names, HTTP routes, glossary, changelog.

A hook of MkDocs. Links to files of the repository become links to its address, or plain text where it has none.
"""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

OPTIONAL = ("foro.sklearn.ForwardOnlyClassifier", "foro.client.Client", "foro.client.AsyncClient")
"""Classes that need an extra, and have modules of their own."""
ROOT = Path(__file__).resolve().parents[1]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
UNBROKEN = r'<span class="option">\g<0></span>'
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """A link to the repository at the foot of every page, where it has an address."""
    if address := config.extra["repository"]:
        config.extra["social"] = [{"icon": "material/source-repository", "link": address, "name": "Source code"}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages."""
    made = {
        "reference/commands.md": commands_page(),
        "reference/python.md": python_page(),
        "reference/http.md": http_page(),
        "glossary.md": glossary_page(),
        "changelog.md": re.sub(r"^## \[(.+?)\]", r"## \1", text_of("CHANGELOG.md"), flags=re.MULTILINE),
    }
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def text_of(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to what is not part of the site."""

    def mended(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), target))
        if files.get_file_from_path(place) is not None and not place.endswith(".py"):
            return link[0]
        address = config.extra["repository"]
        return f"[{text}]({address}/blob/main/{posixpath.normpath(f'docs/{place}')}{anchor})" if address else text

    return LINK.sub(mended, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Marks the options in inline code, which a browser would break at their dashes."""

    def marked(code: re.Match[str]) -> str:
        return OPTION.sub(UNBROKEN, code[0])

    return re.sub(r"<code>[^<\n]*</code>", marked, html)


def commands_page() -> str:
    """Every command with its help, examples, arguments and options."""
    from typer.main import get_command

    from foro.cli.app import COMMANDS, app
    from foro.cli.options import EXIT_CODES

    group: Any = get_command(app)
    context = group.context_class(group, info_name="foro")
    lines = [
        "# Commands",
        "",
        "Made from the commands themselves: `foro COMMAND --help` prints the same. Exit codes:",
        "",
        *(
            re.sub(r"^(\d+) (.*?)\.?$", r"- `\1`: \2", code)
            for code in re.split(r", (?=\d)", EXIT_CODES.partition(": ")[2])
        ),
    ]
    for purpose, names in COMMANDS.items():
        lines += ["", f"## {purpose}"]
        for name in names:
            lines += _command(group.get_command(context, name), context, f"foro {name}", 3)
    return "\n".join(lines) + "\n"


def _command(command: Any, parent: Any, name: str, level: int) -> Iterator[str]:
    from foro.cli.experiment import StudyCommand
    from foro.research.studies.all_studies import STUDIES

    context = command.context_class(command, info_name=name.split()[-1], parent=parent)
    text, _, examples = (command.help or "").replace("\b\n", "").partition("Examples:")
    yield from ("", f"{'#' * level} {name}", "", f"`{' '.join(command.get_usage(context).split()[1:])}`", "")
    yield OPTION.sub(r"`\g<0>`", "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n")))
    if examples.strip():
        yield from ("", "```sh", *(line.strip() for line in examples.splitlines() if line.strip()), "```")
    if isinstance(command, StudyCommand):
        yield ""
        yield from (f"- `{each.name}`: {each.number}, {each.title}" for each in STUDIES if each.kind == command.name)
    rows = [each for each in (param.get_help_record(context) for param in command.params) if each]
    if rows and not hasattr(command, "commands"):
        yield from ("", "| | |", "|---|---|")
        yield from (f"| <code>{_cell(names)}</code> | {_cell(text)} |" for names, text in rows)
    for each in getattr(command, "commands", {}).values():
        yield from _command(each, context, f"{name} {each.name}", level + 1)


def _cell(text: str) -> str:
    """Plain text as Markdown inside a cell of a table; a default that was given as words stands in parentheses."""
    plain = re.sub(r"\[default: \(([^()]*)\)\]", r"[default: \1]", " ".join(text.split()))
    escaped = re.sub(r"[<>|*_`\[\]]", lambda found: f"&#{ord(found[0])};{'<wbr>' * (found[0] == '|')}", plain)
    return OPTION.sub(UNBROKEN, escaped)


def python_page() -> str:
    """What ``import foro`` offers, from its docstrings."""
    import foro

    classes = sorted((name for name in foro.__all__ if name[0].isupper()), key=lambda name: name != "Learner")
    functions = [name for name in foro.__all__ if name not in classes]
    lines = ["# Python", "", "What `import foro` offers, and what needs an extra: `foro.sklearn` and `foro.client`."]
    lines += ["[The same in Python](../python.md) has examples."]
    lines += ["", "## Classes"]
    for name in classes:
        lines += _settings() if name == "LearnerConfig" else ["", f"::: foro.{name}"]
    lines += [f"\n::: {name}" for name in OPTIONAL]
    lines += ["", "## Functions", *(f"\n::: foro.{name}" for name in functions)]
    return "\n".join(lines) + "\n"


def _settings() -> list[str]:
    """``LearnerConfig`` with a table of its settings; its signature would have them in the words of the source."""
    from foro import LearnerConfig

    whole = "    options: {show_signature: false, separate_signature: false, members: false, heading: LearnerConfig}"
    part = "    options: {heading_level: 4}"
    lines = ["", "::: foro.LearnerConfig", whole, "", "| Setting | Default | What it does |", "|---|---|---|"]
    for each in fields(LearnerConfig):
        lines.append(f"| <code>{each.name}</code> | <code>{each.default}</code> | {_cell(each.metadata['help'])} |")
    return [*lines, *(f"\n::: foro.LearnerConfig.{name}\n{part}" for name in ("from_preset", "as_dict"))]


def http_page() -> str:
    """Every route, from the description that the service gives of itself."""
    description = asyncio.run(_description())
    lines = [
        "# HTTP",
        "",
        description["info"]["description"],
        "",
        "A running service has this description at `/docs` and,",
    ]
    lines += ["for programs, at `/openapi.json`. [Serving](../serving.md) has examples with curl."]
    for path, entries in description["paths"].items():
        for method, entry in entries.items():
            lines += ["", f"## {method.upper()} {path}", "", entry.get("description", "")]
            for each in entry.get("parameters", []):
                lines += ["", f"- `{each['name']}` ({each['in']}): {each.get('description', '')}"]
            for kind, content in entry.get("requestBody", {}).get("content", {}).items():
                fields = ", ".join(f"`{name}`" for name in content["schema"].get("properties", {}))
                lines += ["", f"Takes `{kind}`: {fields}" if fields else f"Takes `{kind}`"]
                if "example" in content:
                    lines += ["", *_json(content["example"])]
            told = entry["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("example")
            if told is not None:
                lines += ["", "Answers with", "", *_json(told)]
            lines += ["", *(f"- `{status}` {each['description']}" for status, each in entry["responses"].items())]
    return "\n".join(lines) + "\n"


def _json(value: Any) -> list[str]:
    return ["```json", json.dumps(value, indent=2, ensure_ascii=False), "```"]


async def _description() -> dict[str, Any]:
    """The OpenAPI description of a service with a new model."""
    import httpx

    from foro import DurableLearner, Learner
    from foro.serve.http.asgi import create_app
    from foro.serve.service_config import ServeConfig
    from foro.serve.work.service import Service

    with tempfile.TemporaryDirectory() as folder:
        durable = DurableLearner.open(Path(folder, "model.foro"), create=lambda: Learner("nano"))
        service = Service(durable, ServeConfig())
        try:
            transport = httpx.ASGITransport(app=create_app(service))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                answer = await client.get("/openapi.json")
                return dict(answer.raise_for_status().json())
        finally:
            service.close()


def glossary_page() -> str:
    """The words of CONTRIBUTING.md."""
    return (
        "# Glossary\n\nSymbols are those of the paper and of [How it works](how-it-works.md).\n\n"
        + text_of("CONTRIBUTING.md").partition("\n## Words\n")[2].partition("\n## ")[0].strip()
        + "\n"
    )
