"""A client for a service that ``foro serve`` runs, here or elsewhere: typed, for threads and for asyncio.

What is taught carries a key, so that it can be sent again after a lost answer without being learned twice. Needs the
extra ``client``.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from foro.errors import FoRoError

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self

Image = str | os.PathLike[str] | bytes
"""A file, or its content."""

DEFAULT_ADDRESS = "http://127.0.0.1:8000"
MOST_FILES = 16
MOST_BYTES = 16 * 2**20
"""Of one request; more images are sent in several."""
BUSY = (429, 503)
LONGEST_PAUSE = 60.0


class ServiceError(FoRoError):
    """What the service refused: ``kind`` names it for programs, the text is one sentence for people."""

    def __init__(self, detail: str, kind: str, status: int, request_id: str | None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = status
        self.request_id = request_id


@dataclass(frozen=True)
class Choice:
    """A label, and how likely it is if the image is of any of them."""

    label: str
    confidence: float


@dataclass(frozen=True)
class Answer:
    """What an image was taken for; ``problem`` says why it could not be judged, and ``label`` is None then.

    ``unknown`` is the chance that it is of none of the labels; None while too little was learned to tell.
    """

    label: str | None
    confidence: float
    unknown: float | None
    top: tuple[Choice, ...]
    problem: str | None = None

    @classmethod
    def of(cls, result: dict[str, Any]) -> Answer:
        if "error" in result:
            return cls(None, 0.0, None, (), result["error"]["detail"])
        top = tuple(Choice(each["label"], each["confidence"]) for each in result["top"])
        return cls(result["label"], result["confidence"], result["unknown"], top)


@dataclass(frozen=True)
class Lesson:
    """What came of teaching; ``skipped`` has the positions of images that could not be read, and why."""

    label: str
    learned: int
    count: int
    samples: int
    accuracy: float | None
    skipped: tuple[tuple[int, str], ...]
    replayed: bool

    @classmethod
    def of(cls, answers: Sequence[dict[str, Any]], sizes: Sequence[int]) -> Lesson:
        """Of a lesson that was sent in parts, so many images each."""
        skipped, before = [], 0
        for answer, size in zip(answers, sizes, strict=True):
            skipped += [(before + each["index"], each["detail"]) for each in answer["skipped"]]
            before += size
        last = answers[-1]
        return cls(
            label=last["label"],
            learned=sum(answer["learned"] for answer in answers),
            count=last["count"],
            samples=last["samples"],
            accuracy=last["accuracy"]["overall"],
            skipped=tuple(skipped),
            replayed=all(answer["replayed"] for answer in answers),
        )


@dataclass(frozen=True)
class KnownClass:
    """A label, from how many images it was learned, and how well it is recognised, as far as that is known."""

    label: str
    count: int
    accuracy: float | None


@dataclass(frozen=True)
class _Call:
    """A request. ``repeatable``: it may be sent again even if it was served, because that changes nothing."""

    method: str
    path: str
    repeatable: bool
    content: dict[str, Any]


class _Calls:
    """What both clients send, and how they read the answers."""

    def __init__(self, address: str, token: str | None, tries: int) -> None:
        self.address = address.rstrip("/") + "/"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.tries = tries

    def predict(self, images: Sequence[Image], top: int) -> Iterator[_Call]:
        for files in _batches(images):
            yield _Call("POST", "v1/predict", True, {"files": _form(files), "params": {"top": top}})

    def lesson(self, verb: str, images: Sequence[Image], label: str, key: str | None) -> Iterator[tuple[_Call, int]]:
        key = key or uuid.uuid4().hex
        for number, files in enumerate(_batches(images)):
            part = {"Idempotency-Key": f"{key}.{number}" if number else key}
            content = {"files": _form(files), "data": {"label": label}, "headers": part}
            yield _Call("POST", f"v1/{verb}", True, content), len(files)

    def classes(self) -> _Call:
        return _Call("GET", "v1/classes", True, {})

    def about(self, method: str, label: str, verb: str = "", **query: str) -> _Call:
        return _Call(method, f"v1/classes/{quote(label, safe='')}{verb}", False, {"params": query})

    def undo(self) -> _Call:
        return _Call("POST", "v1/undo", True, {"headers": {"Idempotency-Key": uuid.uuid4().hex}})

    def merge(self, model: str | os.PathLike[str], key: str | None) -> _Call:
        content = {
            "files": {"model": Path(model).read_bytes()},
            "headers": {"Idempotency-Key": key or uuid.uuid4().hex},
        }
        return _Call("POST", "v1/merge", True, content)

    def pause(self, call: _Call, attempt: int, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds after which to send it again; None: not at all."""
        if attempt >= self.tries:
            return None
        if isinstance(outcome, Exception):
            return 0.5 * attempt if call.repeatable else None
        if outcome.status_code not in BUSY:
            return None
        told = outcome.headers.get("retry-after", "")
        return min(float(told), LONGEST_PAUSE) if told.isdecimal() else float(attempt)

    def read(self, outcome: httpx.Response | httpx.TransportError) -> httpx.Response:
        """The answer, or what went wrong."""
        if isinstance(outcome, Exception):
            raise ServiceError(f"{self.address} does not answer: {outcome}", "unreachable", 0, None) from outcome
        if outcome.is_success:
            return outcome
        try:
            problem = outcome.json()
            kind, detail = problem["type"].rpartition(":")[2], problem["detail"]
        except (ValueError, KeyError, TypeError):
            kind, detail = "no-problem-told", f"{self.address} answered {outcome.status_code}"
        raise ServiceError(detail, kind, outcome.status_code, outcome.headers.get("x-request-id"))


def _batches(images: Sequence[Image]) -> Iterator[list[bytes]]:
    """The content of the images, as much of it as goes into one request."""
    batch: list[bytes] = []
    for image in images:
        content = image if isinstance(image, bytes) else Path(image).read_bytes()
        if batch and (len(batch) == MOST_FILES or sum(map(len, batch)) + len(content) > MOST_BYTES):
            yield batch
            batch = []
        batch.append(content)
    if batch:
        yield batch


def _form(files: Sequence[bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("images", ("image", content)) for content in files]


def _known(answer: httpx.Response) -> list[KnownClass]:
    return [KnownClass(each["label"], each["count"], each["accuracy"]) for each in answer.json()["classes"]]


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise FoRoError('the client needs httpx: install it with pip install "foro[client]"') from None
    return httpx


class Client:
    """Talks to a service, one request at a time.

    Examples
    --------
    >>> with Client(token="…") as pets:                                     # doctest: +SKIP
    ...     pets.learn(["tom.jpg", "kitty.jpg"], "cat")
    ...     pets.predict(["who.jpg"])[0].label
    """

    def __init__(
        self, address: str = DEFAULT_ADDRESS, token: str | None = None, *, timeout: float = 60.0, tries: int = 5
    ) -> None:
        self._calls = _Calls(address, token, tries)
        self._connection: httpx.Client = _httpx().Client(
            base_url=self._calls.address, headers=self._calls.headers, timeout=timeout
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._connection.close()

    def predict(self, images: Sequence[Image], top: int = 5) -> list[Answer]:
        """What each image is taken for."""
        answers = [self._send(call).json() for call in self._calls.predict(images, top)]
        return [Answer.of(result) for answer in answers for result in answer["results"]]

    def learn(self, images: Sequence[Image], label: str, key: str | None = None) -> Lesson:
        """Teaches images of one label. With a key of your own, the same lesson is never learned twice."""
        sent = [(self._send(call).json(), size) for call, size in self._calls.lesson("learn", images, label, key)]
        return _lesson(sent)

    def unlearn(self, images: Sequence[Image], label: str, key: str | None = None) -> int:
        """Takes the influence of these very images back, exactly, and returns of how many."""
        calls = self._calls.lesson("unlearn", images, label, key)
        return sum(int(self._send(call).json()["unlearned"]) for call, _ in calls)

    def classes(self) -> list[KnownClass]:
        """Every label that is known."""
        return _known(self._send(self._calls.classes()))

    def forget(self, label: str) -> None:
        """Never predicts a label again, until it is restored."""
        self._send(self._calls.about("DELETE", label))

    def restore(self, label: str) -> None:
        """Takes ``forget`` back."""
        self._send(self._calls.about("POST", label, "/restore"))

    def undo(self) -> str:
        """Takes the last change back, whatever it was, and returns what it was: learn, forget, …"""
        return str((self._send(self._calls.undo())).json()["undone"]["what"])

    def rename(self, label: str, to: str) -> None:
        """Calls a label something else; one that is known already makes one class of both."""
        self._send(self._calls.about("POST", label, "/rename", to=to))

    def merge(self, model: str | os.PathLike[str], key: str | None = None) -> int:
        """Adds what another model file has learned, and returns from how many images that was."""
        return int(self._send(self._calls.merge(model, key)).json()["added"])

    def model(self) -> bytes:
        """The content of the model file, with everything that was learned so far."""
        return self._send(_Call("GET", "v1/model", True, {})).content

    def _send(self, call: _Call) -> httpx.Response:
        attempt = 0
        while True:
            attempt += 1
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._connection.request(call.method, call.path, **call.content)
            except _httpx().TransportError as error:
                outcome = error
            if (seconds := self._calls.pause(call, attempt, outcome)) is None:
                return self._calls.read(outcome)
            time.sleep(seconds)


class AsyncClient:
    """Talks to a service from asyncio; as ``Client``, with ``await``."""

    def __init__(
        self, address: str = DEFAULT_ADDRESS, token: str | None = None, *, timeout: float = 60.0, tries: int = 5
    ) -> None:
        self._calls = _Calls(address, token, tries)
        self._connection: httpx.AsyncClient = _httpx().AsyncClient(
            base_url=self._calls.address, headers=self._calls.headers, timeout=timeout
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes its connections."""
        await self._connection.aclose()

    async def predict(self, images: Sequence[Image], top: int = 5) -> list[Answer]:
        """What each image is taken for."""
        answers = [(await self._send(call)).json() for call in self._calls.predict(images, top)]
        return [Answer.of(result) for answer in answers for result in answer["results"]]

    async def learn(self, images: Sequence[Image], label: str, key: str | None = None) -> Lesson:
        """Teaches images of one label. With a key of your own, the same lesson is never learned twice."""
        calls = self._calls.lesson("learn", images, label, key)
        return _lesson([((await self._send(call)).json(), size) for call, size in calls])

    async def unlearn(self, images: Sequence[Image], label: str, key: str | None = None) -> int:
        """Takes the influence of these very images back, exactly, and returns of how many."""
        calls = self._calls.lesson("unlearn", images, label, key)
        return sum([int((await self._send(call)).json()["unlearned"]) for call, _ in calls])

    async def classes(self) -> list[KnownClass]:
        """Every label that is known."""
        return _known(await self._send(self._calls.classes()))

    async def forget(self, label: str) -> None:
        """Never predicts a label again, until it is restored."""
        await self._send(self._calls.about("DELETE", label))

    async def restore(self, label: str) -> None:
        """Takes ``forget`` back."""
        await self._send(self._calls.about("POST", label, "/restore"))

    async def undo(self) -> str:
        """Takes the last change back, whatever it was, and returns what it was: learn, forget, …"""
        return str((await self._send(self._calls.undo())).json()["undone"]["what"])

    async def rename(self, label: str, to: str) -> None:
        """Calls a label something else; one that is known already makes one class of both."""
        await self._send(self._calls.about("POST", label, "/rename", to=to))

    async def merge(self, model: str | os.PathLike[str], key: str | None = None) -> int:
        """Adds what another model file has learned, and returns from how many images that was."""
        return int((await self._send(self._calls.merge(model, key))).json()["added"])

    async def model(self) -> bytes:
        """The content of the model file, with everything that was learned so far."""
        return (await self._send(_Call("GET", "v1/model", True, {}))).content

    async def _send(self, call: _Call) -> httpx.Response:
        attempt = 0
        while True:
            attempt += 1
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._connection.request(call.method, call.path, **call.content)
            except _httpx().TransportError as error:
                outcome = error
            if (seconds := self._calls.pause(call, attempt, outcome)) is None:
                return self._calls.read(outcome)
            await asyncio.sleep(seconds)


def _lesson(sent: list[tuple[dict[str, Any], int]]) -> Lesson:
    if not sent:
        raise FoRoError("there is no image to learn")
    return Lesson.of([answer for answer, _ in sent], [size for _, size in sent])
