"""The reference at ``/docs``: made from the OpenAPI description, without a script or anything from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def reference_page(description: dict[str, Any]) -> str:
    """Every route with its parameters, an example of its answer, and what can go wrong."""
    routes = [
        _route(method.upper(), path, entry)
        for path, entries in description["paths"].items()
        for method, entry in entries.items()
    ]
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>FoRo · API</title>
<link rel="stylesheet" href="static/style.css">
<main class="reference">
<h1>API</h1>
<p>{escape(description["info"]["description"])} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
{"".join(routes)}
</main>
</html>
"""


def _route(method: str, path: str, entry: dict[str, Any]) -> str:
    parts = [f"<section><h2><code>{method} {escape(path)}</code></h2><p>{escape(entry.get('description', ''))}</p>"]
    if parameters := entry.get("parameters"):
        items = "".join(
            f"<li><code>{escape(each['name'])}</code> ({each['in']}): {escape(each.get('description', ''))}</li>"
            for each in parameters
        )
        parts.append(f"<ul>{items}</ul>")
    for kind, content in entry.get("requestBody", {}).get("content", {}).items():
        fields = ", ".join(content["schema"]["properties"])
        example = f"<pre>{escape(json.dumps(content['example']))}</pre>" if "example" in content else ""
        parts.append(f"<p><code>{kind}</code>: {escape(fields)}</p>{example}")
    problems = []
    for status, answer in entry["responses"].items():
        if status != "200":
            problems.append(f"<li><code>{status}</code> {escape(answer['description'])}</li>")
        elif example := answer.get("content", {}).get("application/json", {}).get("example"):
            parts.append(f"<p>Answers</p><pre>{escape(json.dumps(example, ensure_ascii=False))}</pre>")
    return "".join([*parts, f"<ul>{''.join(problems)}</ul></section>" if problems else "</section>"])
