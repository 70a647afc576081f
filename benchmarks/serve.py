"""The service on loopback, loaded from this process: throughput beside a bare snapshot, and answers while it learns.

``python benchmarks/serve.py`` starts ``foro serve`` with the embedded backbone, and asks it for one image a request
over 16 connections. Printed are ratios within one run: of the throughput to that of a bare snapshot, which is handed
the same files and neither receives nor answers a request; of the processor time that both take for an image, which
other programs change less; and of the slowest hundredth of the answers while the service learns without a pause, small
images or photographs of 12 megapixels, to that while it does not. All of them take turns, round after round, so that
whatever else the machine does meets them alike.
``--merge`` measures instead what it takes to merge two models of 43 MB, beside reading, merging and writing them here;
``--camera``, how many answers a second the page gives to a camera, in Chromium with one that shows a moving pattern.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from foro import Learner
from foro.snapshot import Snapshot

CLASSES = 10
BOUNDARY = "foro-benchmark"
MERGED = {"projection_dim": 3200, "images": 900}
"""Of each of two models: so many images that the statistics are a matrix, which is nearly all of the file."""
PHOTOGRAPH = 4000, 3000
"""Pixels of a photograph, as phones take them."""


def pictures(count: int, size: tuple[int, int], seed: int, grain: float = 0.0) -> list[bytes]:
    """JPEG files of coarse noise, and some as fine as pixels, over a colour that is their class."""
    generator = np.random.default_rng(seed)
    files = []
    for number in range(count):
        coarse = generator.normal(0, 40, (8, 8, 3)) + np.random.default_rng(number % CLASSES).uniform(40, 215, 3)
        image = Image.fromarray(np.uint8(np.clip(coarse, 0, 255))).resize(size, Image.Resampling.BICUBIC)
        if grain:  # what makes the file of a real photograph as large as it is
            noise = generator.normal(0, grain, (size[1], size[0], 1)).astype(np.float32)
            image = Image.fromarray(np.uint8(np.clip(np.asarray(image) + noise, 0, 255)))
        file = io.BytesIO()
        image.save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


def bare(snapshot: Snapshot, files: list[bytes]) -> tuple[float, float]:
    """Images a second, and the processor's milliseconds of each: decode, backbone, classifier, and known or unknown."""
    start, before = time.perf_counter(), time.process_time()
    snapshot.answers([Image.open(io.BytesIO(data)) for data in files])
    spent = time.process_time() - before
    return len(files) / (time.perf_counter() - start), 1000 * spent / len(files)


class Server:
    """``foro serve`` in a process of its own."""

    def __init__(self, model: Path) -> None:
        command = [sys.executable, "-c", "from foro.cli import main; main()", "serve", str(model), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--rate", "0", "--log-level", "warning"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])

    def processor_time(self) -> float:
        """Seconds that its threads have computed so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def form(files: list[bytes], name: str = "images", **fields: str) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    parts += [f'Content-Disposition: form-data; name="{name}"; filename="i"\r\n\r\n'.encode() + file for file in files]
    whole = b"".join(b"--" + BOUNDARY.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return whole + b"--" + BOUNDARY.encode() + b"--\r\n"


class Connection:
    """The least that speaks HTTP: the load should cost the machine as little as possible."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, body: bytes) -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        if not answer.startswith(b"HTTP/1.1 200"):
            sys.exit(f"the service answered {answer.splitlines()[0].decode()}: {content.decode()}")
        return content


async def ask(port: int, bodies: list[bytes], concurrency: int) -> tuple[float, list[float]]:
    """Requests a second over so many connections, and the seconds that each took."""
    seconds: list[float] = []
    waiting = iter(bodies)

    async def client() -> None:
        connection = await Connection.open(port)
        for body in waiting:
            start = time.perf_counter()
            await connection.post("/v1/predict?top=1", body)
            seconds.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(concurrency)))
    return len(bodies) / (time.perf_counter() - start), seconds


async def ask_while_learning(
    port: int, bodies: list[bytes], lessons: list[bytes], concurrency: int
) -> tuple[list[float], int]:
    """The seconds of each request while another connection teaches without a pause, and how many images it taught."""
    taught, done = 0, asyncio.Event()

    async def teach() -> None:
        nonlocal taught
        connection = await Connection.open(port)
        while not done.is_set():
            taught += json.loads(await connection.post("/v1/learn?again=true", lessons[taught % len(lessons)]))[
                "learned"
            ]

    teaching = asyncio.create_task(teach())
    _, seconds = await ask(port, bodies, concurrency)
    done.set()
    await teaching
    return seconds, taught


def taught(path: Path, size: tuple[int, int], count: int, seed: int, projection_dim: int) -> Path:
    """Writes a model that has learned so many images."""
    learner = Learner("nano", policy="none", projection_dim=projection_dim)
    images = [Image.open(io.BytesIO(data)) for data in pictures(count, size, seed)]
    learner.learn(images, [f"class {number % CLASSES}" for number in range(count)])
    learner.save(path)
    return path


async def timed_merge(port: int, model: bytes) -> float:
    connection = await Connection.open(port)
    start = time.perf_counter()
    await connection.post("/v1/merge", form([model], "model"))
    return time.perf_counter() - start


def measure_merge(folder: Path, size: tuple[int, int]) -> None:
    ours, theirs = (
        taught(folder / f"{seed}.foro", size, MERGED["images"], seed, MERGED["projection_dim"]) for seed in (1, 2)
    )
    start = time.perf_counter()
    here = Learner.load(ours)
    here.merge(Learner.load(theirs))
    here.save(folder / "both.foro")
    alone = time.perf_counter() - start
    server = Server(ours)
    try:
        served = asyncio.run(timed_merge(server.port, theirs.read_bytes()))
    finally:
        server.stop()
    print(f"merging a model of {theirs.stat().st_size / 1e6:.0f} MB into another: {alone:.1f} s here")
    print(f"by the service {served:.1f} s, ratio {served / alone:.2f}")


def measure_camera(folder: Path, size: tuple[int, int], seconds: float = 10.0) -> None:
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    server = Server(taught(folder / "model.foro", size, 200, 2, 8192))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
            page = browser.new_page()
            answers: list[float] = []
            page.on("response", lambda each: answers.append(time.perf_counter()) if "predict" in each.url else None)
            page.goto(f"http://127.0.0.1:{server.port}/")
            page.get_by_role("button", name="Use the camera").first.click()
            page.wait_for_selector("#try-answer:not([hidden])")
            start = time.perf_counter()
            page.wait_for_timeout(1000 * seconds)
            counted = sum(start <= each <= start + seconds for each in answers)
            browser.close()
    finally:
        server.stop()
    print(f"live camera: {counted / seconds:.1f} answers/s  (target ≥ 10)")


def slowest(seconds: list[float]) -> float:
    """Milliseconds that 99 of 100 requests took at most."""
    return 1000 * float(np.percentile(seconds, 99))


def measure_answers(folder: Path, size: tuple[int, int], arguments: argparse.Namespace) -> None:
    files = pictures(arguments.requests // arguments.rounds, size, seed=1)
    bodies = [form([file]) for file in files]
    lessons = [form(pictures(4, size, seed), label=f"class {seed % CLASSES}") for seed in range(16)]
    photographs = [form(pictures(4, PHOTOGRAPH, seed, grain=6), label=f"class {seed}") for seed in range(2)]
    model = taught(folder / "model.foro", size, 200, 2, arguments.projection_dim)
    snapshot = Learner.load(model).snapshot()
    engine, served = [], []  # images a second, and milliseconds of the processor for each
    alone, learning, large = [], [], []
    small = shot = 0
    # What is left to do after a lesson, such as to save it, is no part of what an answer costs.
    asked, learns = Server(model), Server(Path(shutil.copy(model, folder / "learns.foro")))
    try:
        bare(snapshot, files)
        for server in (asked, learns):
            asyncio.run(ask(server.port, bodies, arguments.concurrency))
        for _ in range(arguments.rounds):
            engine.append(bare(snapshot, files))
            before = asked.processor_time()
            rate, seconds = asyncio.run(ask(asked.port, bodies, arguments.concurrency))
            served.append((rate, 1000 * (asked.processor_time() - before) / len(bodies)))
            alone += seconds
            seconds, taught_now = asyncio.run(ask_while_learning(learns.port, bodies, lessons, arguments.concurrency))
            learning += seconds
            small += taught_now
            seconds, taught_now = asyncio.run(
                ask_while_learning(learns.port, bodies, photographs, arguments.concurrency)
            )
            large += seconds
            shot += taught_now
    finally:
        asked.stop()
        learns.stop()
    rates = [mine / theirs for (mine, _), (theirs, _) in zip(served, engine, strict=True)]
    costs = [theirs / mine for (_, mine), (_, theirs) in zip(served, engine, strict=True)]
    print(
        f"{len(alone)} requests of one image over {arguments.concurrency} connections, nano, {arguments.rounds} rounds"
    )
    print("                               images/s    ms of the processor for an image")
    for name, runs in (("bare snapshot", engine), ("service", served)):
        rate, cost = np.median(runs, axis=0)
        print(f"{name:30} {rate:8.1f}   {cost:8.2f}")
    for name, ratios in (("images/s", rates), ("processor", costs)):
        print(f"ratio, {name:23} {np.median(ratios):8.2f}   ({min(ratios):.2f} to {max(ratios):.2f}; target ≥ 0.9)")
    print(f"slowest hundredth, not learning {slowest(alone):7.1f} ms")
    print(
        f"slowest hundredth, learning     {slowest(learning):7.1f} ms         "
        f"ratio {slowest(learning) / slowest(alone):.2f}  (target ≤ 2; {small} images learned meanwhile)"
    )
    megabytes = sum(map(len, photographs)) / 8e6
    print(
        f"slowest hundredth, photographs  {slowest(large):7.1f} ms         "
        f"ratio {slowest(large) / slowest(alone):.2f}  "
        f"(target ≤ 3; {shot} of 12 megapixels and {megabytes:.1f} MB learned meanwhile)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=3000, help="predictions of each measurement")
    parser.add_argument("--rounds", type=int, default=6, help="in which these are made, in turns")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--side", type=int, default=96, help="pixels of an image's side")
    parser.add_argument("--projection-dim", type=int, default=8192)
    parser.add_argument("--merge", action="store_true", help="measure merging, and nothing else")
    parser.add_argument("--camera", action="store_true", help="measure the live camera of the page, and nothing else")
    arguments = parser.parse_args()
    size = arguments.side, arguments.side
    with TemporaryDirectory() as folder:
        if arguments.merge:
            measure_merge(Path(folder), size)
        elif arguments.camera:
            measure_camera(Path(folder), size)
        else:
            measure_answers(Path(folder), size, arguments)


if __name__ == "__main__":
    main()
