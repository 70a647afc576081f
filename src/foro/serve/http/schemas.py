"""The shapes of requests and answers, with examples: what ``/openapi.json`` and the reference at ``/docs`` show."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from foro.serve.problems import MEDIA_TYPE

TIME = "2026-03-01T12:00:00+00:00"


class Shape(BaseModel):
    """Answers have all fields of their shape, and may get more."""

    model_config = ConfigDict(extra="allow")


class ProblemShape(Shape):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["urn:foro:problem:unreadable-image"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["this is not a readable image; JPEG, PNG, WebP, GIF, BMP, TIFF and AVIF are"])
    request_id: str | None = Field(None, examples=["5a1c0f0e9b7d4c1e8f3a2b6d7c8e9f01"])


class Health(Shape):
    status: str = Field(examples=["ok"])
    model: str = Field(description="name of the model file", examples=["pets.foro"])
    backbone: str = Field(examples=["vit_nano_patch8_96.foro2_tin200"])
    classes: int = Field(examples=[2])
    samples: int = Field(examples=[12])
    model_version: int = Field(description="grows with every change of the model", examples=[7])


class Ready(Shape):
    status: str = Field(examples=["ready"])


class Choice(Shape):
    label: str = Field(examples=["cat"])
    confidence: float = Field(ge=0, le=1, examples=[0.93])


class Prediction(Choice):
    unknown: float | None = Field(
        description="the chance that the image is of none of the labels; null while too little was learned to tell",
        examples=[0.04],
    )
    top: list[Choice] = Field(description="the most likely labels, best first, as far as it is of one of them")


class Refused(Shape):
    error: ProblemShape


class Predictions(Shape):
    results: list[Prediction | Refused] = Field(description="one for each image, in order")
    model_version: int = Field(description="grows with every change of the model", examples=[7])


class Accuracy(Shape):
    overall: float | None = Field(
        description="to be expected on new images, from samples that were left out one at a time", examples=[0.96]
    )


class Skipped(Shape):
    index: int = Field(description="position of the image in the request", examples=[2])
    detail: str = Field(examples=["this image is empty: it has no bytes"])


class OtherLabel(Shape):
    index: int = Field(description="position of the image in the request", examples=[4])
    label: str = Field(description="with which it was learned", examples=["dog"])


class Learned(Shape):
    """What was learned is on the disk when this is sent."""

    label: str = Field(examples=["cat"])
    similar: str | None = Field(
        description="a label that was there before this new one, and is much like it",
        examples=["Cat"],
    )
    learned: int = Field(description="images that were new, and were learned", examples=[3])
    known: int = Field(description="images that were learned before with this label, and not again", examples=[0])
    known_at: list[int] = Field(description="positions of these in the request, from 0", examples=[[]])
    other_label: list[OtherLabel] = Field(description="images that were learned before with another label, and left so")
    relabelled: int = Field(description="images that had another label before", examples=[0])
    count: int = Field(description="images of this label so far", examples=[8])
    skipped: list[Skipped] = Field(description="images that could not be read")
    samples: int = Field(description="images of all labels so far", examples=[20])
    seconds: float = Field(examples=[0.21])
    accuracy: Accuracy
    replayed: bool = Field(description="this Idempotency-Key was learned before; nothing was learned now")


class Unlearned(Shape):
    label: str = Field(examples=["cat"])
    unlearned: int = Field(description="images whose influence was taken back", examples=[3])
    count: int = Field(description="images of this label that are left", examples=[5])
    samples: int = Field(description="images of all labels that are left", examples=[17])
    replayed: bool = Field(description="this Idempotency-Key came before; nothing was taken back now")


class Class(Shape):
    label: str = Field(examples=["cat"])
    count: int = Field(examples=[8])
    accuracy: float | None = Field(examples=[1.0])
    last_taught: str | None = Field(examples=[TIME])


class Point(Shape):
    time: str = Field(examples=[TIME])
    accuracy: float = Field(examples=[0.96])
    samples: int = Field(examples=[20])


class Event(Shape):
    what: str = Field(description="learn, unlearn, forget, restore, rename or merge", examples=["learn"])
    time: str = Field(examples=[TIME])
    samples: int = Field(examples=[3])
    labels: list[str] = Field(description="at most 20, with the most images first", examples=[["cat"]])


class Classes(Shape):
    classes: list[Class]
    samples: int = Field(examples=[20])
    accuracy: float | None = Field(examples=[0.96])
    history: list[Point] = Field(description="how the accuracy to be expected has changed")
    removed: list[str] = Field(description="labels that can be restored", examples=[["dog"]])
    thumbnails: bool = Field(description="whether small copies of learned images are kept", examples=[False])
    undo: list[Event] = Field(description="the last changes that can be taken back, at most 20, the last first")
    model_version: int = Field(description="grows with every change of the model", examples=[7])


class Thumbnails(Shape):
    thumbnails: list[str] = Field(description="JPEG files as data: URLs", examples=[["data:image/jpeg;base64,/9j/"]])


class Pair(Shape):
    first: str = Field(examples=["cat"])
    second: str = Field(examples=["dog"])
    images: int = Field(description="images of both that were judged", examples=[16])
    confused: float = Field(description="how many of them are expected to be taken for the other", examples=[1.4])


class Needed(Shape):
    label: str = Field(examples=["cat"])
    learned: int = Field(examples=[8])
    mistakes: float = Field(description="the share to be expected on new images of it", examples=[0.2])
    mistakes_after: float = Field(description="that share with so many more images", examples=[0.15])


class Reviewed(Shape):
    confusable: list[Pair] = Field(description="classes that are confused, those with most images first")
    more: int = Field(description="images of which it is said what they would gain", examples=[5])
    needs: list[Needed] = Field(description="every class, that with most to gain first; none while too little is known")
    model_version: int = Field(description="grows with every change of the model", examples=[7])


class Changed(Shape):
    label: str = Field(examples=["dog"])
    classes: int = Field(description="labels that are known now", examples=[2])


class Undone(Shape):
    undone: Event = Field(description="the change that was taken back")
    left: int = Field(description="changes that can still be taken back", examples=[4])
    classes: int = Field(examples=[2])
    samples: int = Field(examples=[17])
    replayed: bool = Field(description="this Idempotency-Key came before; nothing was taken back now")


class Merged(Shape):
    classes: int = Field(examples=[4])
    samples: int = Field(examples=[52])
    added: int = Field(description="images that are new", examples=[32])
    known: int = Field(description="images of the merged model that were learned here too", examples=[0])
    replayed: bool


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The body cannot be read."),
    401: _problem("A token is needed."),
    403: _problem("The token may not teach, or another web page has sent this."),
    421: _problem("Without a token, only localhost is served."),
    429: _problem("Too much at once; Retry-After says when to come again."),
}
UPLOAD_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS,
    408: _problem("The body came too slowly."),
    413: _problem("Too large."),
    415: _problem("Neither a form nor JSON."),
    422: _problem("It could be read, but not used."),
}
CONFLICT: dict[int | str, dict[str, Any]] = {409: _problem("This does not fit the state of the model.")}
FULL = _problem("What was learned cannot be written to the disk.")
NOT_READY = _problem("What it learns cannot be written to the disk.")
MISSING: dict[int | str, dict[str, Any]] = {404: _problem("There is no such label.")}

_FILES = {"type": "array", "minItems": 1, "items": {"type": "string", "contentMediaType": "image/*"}}
_BASE64 = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "contentEncoding": "base64", "description": "an image file, or a data: URL"},
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
"""A PNG of one black pixel."""
_LABEL = {"type": "string", "minLength": 1, "maxLength": 200}
_TOP = {"type": "integer", "minimum": 0, "maximum": 1000}


def _body(
    properties: dict[str, Any], required: list[str], example: dict[str, Any], label: dict[str, Any]
) -> dict[str, Any]:
    def shape(images: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "required": ["images", *required], "properties": {"images": images, **properties}}

    content = {
        "multipart/form-data": {"schema": shape(_FILES)},
        "application/json": {"schema": shape(_BASE64), "example": {**label, "images": [PIXEL], **example}},
    }
    return {"requestBody": {"required": True, "content": content}}


_ASKED = {"name": "top", "in": "query", "schema": _TOP, "description": "most labels of an answer; 0: up to 5"}
PREDICT_REQUEST = {**_body({"top": _TOP}, [], {"top": 3}, {}), "parameters": [_ASKED]}
LEARN_BODY = _body({"label": _LABEL}, ["label"], {}, {"label": "cat"})
MERGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["model"],
                    "properties": {"model": {"type": "string", "contentMediaType": "application/octet-stream"}},
                }
            }
        },
    }
}
