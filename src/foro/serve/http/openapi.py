"""What FastAPI cannot know of the service, added to its OpenAPI description: problems, the token, and examples."""

from __future__ import annotations

from typing import Any

from foro.serve.http.schemas import UPLOAD_PROBLEMS, ProblemShape


def complete(description: dict[str, Any]) -> None:
    """Changes the description in place."""
    parts = description.setdefault("components", {})
    shapes = parts.setdefault("schemas", {})
    shapes["ProblemShape"] = ProblemShape.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own way to say so, which is not ours
        shapes.pop(unused, None)
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, entries in description["paths"].items():
        for entry in entries.values():
            if path not in ("/healthz", "/readyz"):
                entry["security"] = [{"token": []}, {}]
            answers = entry["responses"]
            if "HTTPValidationError" in str(answers.get("422", {})):
                answers["422"] = UPLOAD_PROBLEMS[422]
            entry["responses"] = dict(sorted(answers.items()))
            for answer in answers.values():
                for kind, content in answer.get("content", {}).items():
                    if kind.endswith("json"):
                        content["example"] = example(content["schema"], shapes)


def example(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    """A value of the schema, from the examples of its parts."""
    if "$ref" in schema:
        return example(shapes[schema["$ref"].rsplit("/", 1)[1]], shapes)
    if "examples" in schema:
        return schema["examples"][0]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], shapes)
    if schema.get("type") == "array":
        return [example(schema["items"], shapes)]
    if schema.get("type") == "object":
        return {name: example(each, shapes) for name, each in schema["properties"].items()}
    return {"boolean": False, "null": None}[schema["type"]]
