"""Runs ``foro demo``, and takes pictures of its report: the whole page, and the curves alone.

python docs/make_demo_pictures.py
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
COLOURS = 128


def main() -> None:
    browser_path = shutil.which("chromium") or sys.exit("needs chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder, "report.html")
        command = [sys.executable, "-c", "from foro.cli import main; main()", "demo", "--report", str(report)]
        subprocess.run(command, check=True)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto(report.as_uri())
        save(page.screenshot(full_page=True), HERE / "demo-report.png")
        save(page.locator(".plot").screenshot(), HERE / "demo-curves.png")
        browser.close()


def save(picture: bytes, path: Path) -> None:
    """Writes a picture small enough for a repository."""
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
