"""Runs ``foro demo``, puts what it prints into README.md, and takes pictures of its report: the page, and the curves.

python docs/make_demo_pictures.py
"""

from __future__ import annotations

import io
import os
import re
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
        wide = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", env=wide)
        readme = HERE.parent / "README.md"
        readme.write_text(with_output(readme.read_text(encoding="utf-8"), ran.stdout), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto(report.as_uri())
        save(page.screenshot(full_page=True), HERE / "demo-report.png")
        save(page.locator(".plot").screenshot(), HERE / "demo-curves.png")
        browser.close()


def with_output(text: str, printed: str) -> str:
    """README with what the demonstration printed, without the program that it ends with."""
    lines = [line.rstrip() for line in printed.splitlines()]
    (report,) = (number for number, line in enumerate(lines) if line.startswith("│ report "))
    shown = "\n".join([*lines[:report], lines[-1]])
    return re.sub(r"(?<=```\n) +Ten handwritten digits.*?(?=\n```)", lambda _: shown, text, count=1, flags=re.DOTALL)


def save(picture: bytes, path: Path) -> None:
    """Writes a picture small enough for a repository."""
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
