"""Takes the screenshots of the service's page, from the real service with real pictures; needs no network.

    python docs/make_screenshots.py [FOLDER]

The pictures are cut from those that come with scikit-learn: two photographs (CC BY 2.0, by danielbuechele and vultilion
on Flickr) and handwritten digits.
"""

from __future__ import annotations

import io
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sklearn.datasets import load_digits, load_sample_images

WIDE = {"width": 1200, "height": 840}
TALL = {"width": 1200, "height": 1040}
PHONE = {"width": 360, "height": 740}
TURNED = {"width": 740, "height": 360}
COLOURS = 256

# Centre and half the side of each motif, in pixels of its photograph.
MOTIFS = {
    "pagoda": (0, 205, 190, 150),
    "dahlia": (1, 306, 222, 150),
    "tree": (0, 545, 300, 90),
    "leaf": (1, 95, 200, 90),
}
DIGITS = {"three": 3, "five": 5, "eight": 8, "nine": 9}


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    browser_path = shutil.which("chromium") or sys.exit("needs chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pictures = write_pictures(Path(folder))
        with served(Path(folder) / "garden.foro") as address:
            browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            take_all(browser, address, pictures, target)
            browser.close()


def write_pictures(folder: Path) -> dict[str, list[Path]]:
    """Files of every class; the last of each is not taught."""
    generator = np.random.default_rng(0)
    photographs = [Image.fromarray(each) for each in load_sample_images().images]
    images: dict[str, list[Image.Image]] = {
        name: [cut(photographs[which], x, y, half, generator) for _ in range(12)]
        + [straight(photographs[which], x, y, half)]
        for name, (which, x, y, half) in MOTIFS.items()
    }
    digits = load_digits()
    for name, digit in DIGITS.items():
        images[name] = [ink(each) for each in digits.images[digits.target == digit][:13]]
    paths = {}
    for name, some in images.items():
        paths[name] = [folder / f"{name} {number + 1}.png" for number in range(len(some))]
        for path, image in zip(paths[name], some, strict=True):
            image.save(path)
    return paths


def cut(photograph: Image.Image, x: int, y: int, half: int, generator: np.random.Generator) -> Image.Image:
    """The motif from somewhat nearer or farther, and not quite in the middle."""
    half = int(half * generator.uniform(0.55, 0.95))
    x, y = (int(place + generator.uniform(-0.25, 0.25) * half) for place in (x, y))
    x, y = (min(max(place, half), side - half) for place, side in zip((x, y), photograph.size, strict=True))
    return straight(photograph, x, y, half)


def straight(photograph: Image.Image, x: int, y: int, half: int) -> Image.Image:
    return photograph.crop((x - half, y - half, x + half, y + half)).resize((512, 512), Image.Resampling.BICUBIC)


def ink(digit: np.ndarray) -> Image.Image:
    """A digit of 8 × 8 pixels, large, as ink on paper."""
    small = Image.fromarray(np.uint8(255 - np.pad(digit, 2) * (255 / 16)))
    return small.resize((256, 256), Image.Resampling.BICUBIC).convert("RGB")


@contextmanager
def served(model: Path) -> Iterator[str]:
    """The address of ``foro serve`` with a new model."""
    command = [sys.executable, "-c", "from foro.cli import main; main()", "serve", str(model), "--port", "0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert service.stdout is not None
        found = re.search(r"http://\S+", service.stdout.readline())
        if found is None:
            sys.exit("foro serve did not start: run it by hand to see why")
        yield found.group()
    finally:
        service.terminate()
        service.wait()


def take_all(browser: Browser, address: str, pictures: dict[str, list[Path]], target: Path) -> None:
    page = browser.new_page(viewport=WIDE)
    page.goto(address)
    for start in range(0, 12, 4):  # a little of everything, three times: a curve to look at
        for name in [*DIGITS, "leaf", "tree", "pagoda", "dahlia"]:
            teach(page, name, pictures[name][start : start + 4], start + 4)
    save(shot(page), target / "serve-teach.png")
    ask(page, pictures["dahlia"][-1])
    save(shot(page), target / "serve-try.png")
    page.locator("#try-files").set_input_files([files[-1] for files in pictures.values()])
    expect(page.locator("#try-csv")).to_be_visible()
    page.set_viewport_size(TALL)
    save(shot(page), target / "serve-folder.png")
    take_review(page, pictures, target / "serve-review.png")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(TALL)
    page.get_by_role("tab", name="Classes").click()
    expect(page.locator("#chart svg")).to_be_visible()
    save(shot(page), target / "serve-classes-dark.png")
    take_phone(browser, address, pictures, target / "serve-phone.png")


def take_review(page: Page, pictures: dict[str, list[Path]], path: Path) -> None:
    """Pictures that are halfway between two classes, after they were judged."""
    page.set_viewport_size(WIDE)
    halves = []
    names = list(pictures)
    for one, other in itertools.combinations(names, 2):
        first, second = (Image.open(pictures[name][-1]).resize((256, 256)) for name in (one, other))
        halves.append(path.with_name(f"{one} and {other}.png"))
        Image.blend(first, second, 0.5).save(halves[-1])
    try:
        page.get_by_role("tab", name="Try").click()
        page.locator("#try-files").set_input_files(halves)
        expect(page.locator("#try-csv")).to_be_visible()
    finally:
        for half in halves:
            half.unlink()
    page.get_by_role("tab", name="Review").click()
    expect(page.locator("#doubtful button").first).to_be_visible()
    expect(page.locator("#tips li").first).to_be_visible()
    save(shot(page), path)


def take_phone(browser: Browser, address: str, pictures: dict[str, list[Path]], path: Path) -> None:
    """The panels on a phone, side by side, and one on a phone that is turned."""
    page = browser.new_page(viewport=PHONE, is_mobile=True, has_touch=True)
    page.goto(address)
    ask(page, pictures["pagoda"][-1])
    shots = [shot(page)]
    teach(page, "pagoda", pictures["pagoda"][-1:], 13)
    shots.append(shot(page))
    page.get_by_role("tab", name="Classes").click()
    expect(page.locator("#chart svg")).to_be_visible()
    shots.append(shot(page))
    page.set_viewport_size(TURNED)
    page.emulate_media(color_scheme="dark")
    page.get_by_role("tab", name="Try").click()
    save(shot(page), path.with_name("serve-turned-dark.png"))
    gap = 24
    together = Image.new("RGB", (3 * PHONE["width"] + 2 * gap, PHONE["height"]), "#c9cfcb")
    for place, each in enumerate(shots):
        together.paste(each, (place * (PHONE["width"] + gap), 0))
    save(together, path)


def teach(page: Page, label: str, files: list[Path], total: int) -> None:
    """Teaches, and waits until so many pictures of the label are known."""
    page.get_by_role("tab", name="Teach").click()
    page.get_by_label("What is it?").fill(label)
    page.locator("#teach-files").set_input_files(files)
    expect(page.locator("#label-hint")).to_have_text(re.compile(rf"learned {total}\spicture"), timeout=60_000)


def ask(page: Page, file: Path) -> None:
    page.get_by_role("tab", name="Try").click()
    page.locator("#try-files").set_input_files(file)
    expect(page.locator("#try-answer")).to_be_visible()


def shot(page: Page) -> Image.Image:
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(600)  # until nothing moves
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def save(image: Image.Image, path: Path) -> None:
    """Writes a picture small enough for a repository."""
    image.quantize(COLOURS, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
