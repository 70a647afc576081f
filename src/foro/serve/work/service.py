"""The parts of the service, put together, and what it can do."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, BinaryIO

from PIL import Image

from foro.durable import DurableLearner
from foro.errors import FoRoError, InputError, ModelFileError, NeverLearnedError, NothingToUndoError
from foro.labels import check_label, find_label, lookalikes
from foro.ledger import Event
from foro.preparation import LearnReport
from foro.serve.problems import Problem
from foro.serve.service_config import ServeConfig
from foro.serve.work.admission import MEGABYTE, Admission
from foro.serve.work.decoder import Decoder
from foro.serve.work.predictor import Predictor, Ticket
from foro.serve.work.published_model import PublishedModel
from foro.serve.work.teacher import NICENESS, Teacher
from foro.serve.work.uploaded_model import read_other
from foro.snapshot import Snapshot
from foro.types import Label
from foro.util.parallel import step_back
from foro.util.threads import thread_count
from foro.verbs.reviewing import review_kept

PROBED_FOR = 5.0
"""Seconds after which it is tried anew whether the disk can be written to."""

MORE = 5
"""Images of a class of which it is said what they would gain."""

SHOWN = 24
"""Thumbnails of a label that are sent."""

BODIES_AT_ONCE = 8
"""Bodies of the largest size that may be in memory together."""


class Service:
    """A model that answers and learns; takes the durable learner over, and closes it at the end."""

    def __init__(self, durable: DurableLearner, config: ServeConfig) -> None:
        self.config = config
        self.path = Path(durable.path)
        self.name = self.path.name
        self.backbone = durable.learner.backbone
        self.admission = Admission(int(BODIES_AT_ONCE * config.most_megabytes * MEGABYTE), config.most_waiting)
        self.decode = Decoder(self.backbone.preprocessing, config.most_megapixels, config.most_request_megapixels)
        self.predictor = Predictor(self.backbone, self.decode)
        # Of its own, and behind the others: photographs take long to decode, and predictions must not queue for them.
        self.lessons = ThreadPoolExecutor(max(1, thread_count() // 2), "foro-lesson", step_back, (NICENESS,))
        self.teacher = Teacher(durable, config.save_seconds)
        self._could_write = -PROBED_FOR
        self._reviewed: tuple[int, Any] | None = None  # version of the model, and what was said of it
        self._exporting = asyncio.Lock()  # one at a time: it takes the memory of a whole backbone

    @property
    def published(self) -> PublishedModel:
        return self.teacher.published

    async def predict(self, snapshot: Snapshot, images: Sequence[bytes | None]) -> Ticket:
        """How likely each label of the snapshot is, for encoded images; or what is wrong with one."""
        if len(images) > 1:  # a single one is looked at when it is decoded
            await asyncio.get_running_loop().run_in_executor(self.predictor.pool, self.decode.check, images)
        return await self.predictor.ask(snapshot, images)

    async def learn(
        self,
        given: object,
        images: Sequence[bytes | None],
        key: str | None,
        again: bool = False,
        relabel: bool = False,
    ) -> dict[str, Any]:
        """Learns encoded images under the given label; those that cannot be read, and known ones, are left out."""
        label = _text_label(given)
        decoded, skipped = await self._decoded(images)
        places, readable = list(decoded), list(decoded.values())
        if not readable:
            raise Problem(422, "unreadable-image", "none of the images can be read", skipped=skipped)

        def change(durable: DurableLearner) -> tuple[dict[str, Any], bool]:
            digest = _digest_of(images)
            done = durable.seen(key) if key is not None else None
            encoder = durable.learner.head
            (name,) = encoder.known_as([label])
            similar = lookalikes([name], encoder.counts) if name not in encoder.counts else []
            before = encoder.counts.get(name, 0), encoder.samples

            def facts_of(report: LearnReport) -> dict[str, Any]:
                return {
                    "label": label,
                    "similar": str(similar[0][1]) if similar else None,
                    "count": before[0] + report.samples + report.relabelled,
                    "samples": before[1] + report.samples,
                    "known": report.known,
                    "known_at": [places[position] for position in report.known_at],
                    "other_label": [
                        {"index": places[each.position], "label": str(each.known_as)} for each in report.other_label
                    ],
                    "relabelled": report.relabelled,
                    "skipped": skipped,
                    "images": digest,
                }

            names = [name] * len(readable)
            report = durable.learn(readable, names, key=key, again=again, relabel=relabel, facts=facts_of)
            if self.config.keep_thumbnails and done is None:
                digests = durable.learner.digests(readable)
                learned = [at for at, names in enumerate(durable.learner.known.labels_of(digests)) if label in names]
                durable.thumbnails.keep([readable[at] for at in learned], digests[learned])
            facts = facts_of(report) if done is None else done["facts"]
            if (facts.get("label"), facts.get("images")) != (label, digest):
                raise Problem(422, "key-reused", "this Idempotency-Key came before with another label or other images")
            return {**facts, "learned": report.samples, "seconds": round(report.seconds, 4)}, done is not None

        facts, replayed = await self.teacher.make(change)
        return {
            "label": label,
            "similar": facts.get("similar"),
            "learned": facts["learned"],
            "known": facts["known"],
            "known_at": facts.get("known_at", []),
            "other_label": facts["other_label"],
            "relabelled": facts["relabelled"],
            "count": facts["count"],
            "skipped": facts["skipped"],
            "samples": facts["samples"],
            "seconds": facts["seconds"],
            "accuracy": {"overall": self.published.estimate.accuracy},
            "replayed": replayed,
        }

    async def unlearn(self, given: object, images: Sequence[bytes | None], key: str | None) -> dict[str, Any]:
        """Takes the influence of encoded images back that were learned with the given label: of all, or of none."""
        label = _text_label(given)
        decoded, skipped = await self._decoded(images)
        if skipped:
            raise Problem(422, "unreadable-image", "not all of the images can be read", skipped=skipped)

        def change(durable: DurableLearner) -> tuple[int, int, bool]:
            facts = {"label": label, "images": _digest_of(images)}
            done = durable.seen(key) if key is not None else None
            if done is not None and done["what"] == "unlearn" and done["facts"] != facts:
                raise Problem(422, "key-reused", "this Idempotency-Key came before with another label or other images")
            before = durable.learner.head.samples
            try:
                durable.unlearn(list(decoded.values()), [label] * len(decoded), key=key, facts=facts)
            except NeverLearnedError as error:
                raise Problem(422, "never-learned", str(error)) from None
            head = durable.learner.head
            gone = before - head.samples if done is None else int(done["samples"])
            return gone, head.counts.get(head.known_as([label])[0], 0), done is not None

        gone, count, replayed = await self.teacher.make(change)
        found = {"label": label, "unlearned": gone, "count": count, "samples": self.published.samples}
        return {**found, "replayed": replayed}

    async def _decoded(self, images: Sequence[bytes | None]) -> tuple[dict[int, Image.Image], list[dict[str, Any]]]:
        """Images by their position, and those that cannot be read; behind predictions."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.lessons, self.decode.check, images)
        found = await asyncio.gather(*(loop.run_in_executor(self.lessons, self.decode, data) for data in images))
        skipped = [{"index": at, "detail": each.detail} for at, each in enumerate(found) if isinstance(each, Problem)]
        return {at: each for at, each in enumerate(found) if isinstance(each, Image.Image)}, skipped

    async def review(self) -> dict[str, Any]:
        """Which classes are confused, and of which a few more images would help most."""
        published = self.published
        if self._reviewed is None or self._reviewed[0] != published.version:
            counts, kept = published.counts, published.kept
            found = await asyncio.to_thread(review_kept, published.labels, counts, kept, MORE)
            self._reviewed = published.version, found
        confusable, needs = self._reviewed[1]
        return {
            "confusable": [
                {**asdict(each), "first": str(each.first), "second": str(each.second)} for each in confusable
            ],
            "more": MORE,
            "needs": [{**asdict(each), "label": str(each.label)} for each in needs],
            "model_version": self._reviewed[0],
        }

    async def thumbnails(self, text: str) -> list[bytes]:
        """Small copies of images of a label, as far as they are kept, the newest first."""

        def found(durable: DurableLearner) -> list[bytes]:
            images = durable.learner.known.images
            return durable.thumbnails.of(
                (digest for digest, label, forgotten in images if str(label) == text and not forgotten), SHOWN
            )

        return await self.teacher.make(found)

    async def forget(self, text: str) -> dict[str, Any]:
        """Never predicts a label again, until it is restored or taught anew."""

        def change(durable: DurableLearner) -> Label:
            label = find_label(text, durable.learner.labels)
            if label is None:
                raise Problem(404, "unknown-label", "there is no such label")
            durable.forget(label)
            return label

        return self._changed(await self.teacher.make(change))

    async def restore(self, text: str) -> dict[str, Any]:
        """Takes forget back."""

        def change(durable: DurableLearner) -> Label:
            label = find_label(text, durable.learner.head.forgotten)
            if label is None:
                raise Problem(404, "unknown-label", "there is no such label to restore")
            durable.restore(label)
            return label

        return self._changed(await self.teacher.make(change))

    async def undo(self, key: str | None) -> dict[str, Any]:
        """Takes the last change back."""

        def change(durable: DurableLearner) -> tuple[Event, int, bool]:
            done = durable.seen(key) if key is not None else None
            try:
                undone = durable.undo(key=key)
            except NothingToUndoError:
                raise Problem(409, "nothing-to-undo", "there is no change left that can be taken back") from None
            return undone, durable.undo_left, done is not None

        undone, left, replayed = await self.teacher.make(change)
        known = {"classes": len(self.published.labels), "samples": self.published.samples}
        return {"undone": told(undone), "left": left, **known, "replayed": replayed}

    async def rename(self, text: str, to: str) -> dict[str, Any]:
        """Calls a label something else, or makes it one with another that is known."""
        name = _text_label(to)

        def change(durable: DurableLearner) -> Label:
            label = find_label(text, durable.learner.labels)
            if label is None:
                raise Problem(404, "unknown-label", "there is no such label")
            durable.rename(label, name)
            return name

        return self._changed(await self.teacher.make(change))

    def _changed(self, label: Label) -> dict[str, Any]:
        return {"label": str(label), "classes": len(self.published.labels)}

    async def saved_file(self) -> BinaryIO:
        """The model file as it is now, open: whatever replaces it later, this reader has a whole one."""

        def change(durable: DurableLearner) -> BinaryIO:
            if durable.journal_bytes or not durable.path.exists():
                durable.save()
            return open(durable.path, "rb")

        return await self.teacher.make(change)

    async def onnx_file(self) -> BinaryIO:
        """One ONNX graph from an image to probabilities, checked against the model, open."""
        snapshot = self.published.snapshot
        if snapshot is None:
            raise Problem(409, "nothing-learned", "nothing has been learned yet: teach it something first")
        async with self._exporting:
            return await asyncio.to_thread(_export, snapshot, self.path)

    async def check_ready(self) -> None:
        """Refuses if what is learned could not be kept."""
        if self.teacher.trouble is None and time.monotonic() - self._could_write < PROBED_FOR:
            return
        trouble = self.teacher.trouble or await asyncio.to_thread(_write_trouble, self.path)
        if trouble is not None:
            raise Problem(503, "cannot-write", "what it learns cannot be written to the disk")
        self._could_write = time.monotonic()

    async def merge(self, uploaded: Path, key: str | None, again: bool = False) -> dict[str, Any]:
        """Adds what the uploaded model has learned."""
        digest = await asyncio.to_thread(_digest, uploaded)

        def change(durable: DurableLearner) -> tuple[int, int, bool]:
            done = durable.seen(key) if key is not None else None
            if done is not None and done["what"] == "merge":
                if done["facts"].get("model") != digest:
                    raise Problem(422, "key-reused", "this Idempotency-Key came before with another model")
                return done["samples"], done["facts"]["images"] - done["samples"], True
            other = read_other(uploaded, durable.learner, again)
            try:
                facts = {"model": digest, "images": other.head.samples}
                added = durable.merge(other, key=key, again=again, facts=facts)
            except ModelFileError:
                raise
            except Exception:  # whatever it was, the learner is as it was before
                detail = "the statistics of the uploaded model make no sense"
                raise Problem(422, "unreadable-model", detail) from None
            return added, other.head.samples - added, False

        added, known, replayed = await self.teacher.make(change)
        found = {"classes": len(self.published.labels), "samples": self.published.samples}
        return {**found, "added": added, "known": known, "replayed": replayed}

    def close(self) -> None:
        """Finishes what was asked for, saves, and lets go of the model."""
        self.predictor.close()
        self.lessons.shutdown()
        self.teacher.close()


def told(event: Event) -> dict[str, Any]:
    """A change as answers have it."""
    labels = [str(label) for label, _ in event.labels]
    return {"what": event.what, "time": event.when, "samples": event.samples, "labels": labels}


def _digest_of(images: Sequence[bytes | None]) -> str:
    return sha256(b"".join(sha256(data or b"").digest() for data in images)).hexdigest()


def _digest(path: Path) -> str:
    found = sha256()
    with open(path, "rb") as file:
        while piece := file.read(2**20):
            found.update(piece)
    return found.hexdigest()


def _export(snapshot: Snapshot, model: Path) -> BinaryIO:
    from foro.files.export import export_model  # here for start-up time

    try:
        with TemporaryDirectory(".part", f".{model.name}.{os.getpid()}.", model.parent) as folder:
            files = export_model(snapshot, Path(folder) / "model.onnx").files
            if len(files) > 1:
                raise Problem(422, "cannot-export", "this model is too large for one file: use foro export")
            return open(files[0], "rb")
    except FoRoError as error:
        raise Problem(422, "cannot-export", str(error)) from None
    except OSError:
        raise Problem(507, "cannot-write", "there is no room to write the ONNX file") from None


def _write_trouble(model: Path) -> str | None:
    """Why nothing can be written beside the model, if so: tried with a page of bytes."""
    try:
        with NamedTemporaryFile(dir=model.parent, prefix=f".{model.name}.{os.getpid()}.", suffix=".part") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return str(error)
    return None


def _text_label(given: object) -> str:
    """A label as a client may give it: text that the rule for labels allows."""
    try:
        if isinstance(given, str):
            return str(check_label(given))
        detail = "a label is needed, as text"
    except InputError as error:
        detail = str(error)
    raise Problem(422, "bad-label", detail)
