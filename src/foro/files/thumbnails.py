"""Small copies of learned images beside the model, where somebody has asked for them: ``MODEL.thumbnails``.

Each is named by the digest of its image. One whose image is not learned any more goes, whoever took that back.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from PIL import Image

from foro.images.digests import Digests
from foro.known import Known

SIDE = 128
"""Pixels of the longer side, at most."""
MOST_BYTES = 64 * 2**20
"""Of all thumbnails of a model; of more, the oldest go."""


class Thumbnails:
    """The small copies of a model's images; only who may change the model changes them."""

    def __init__(self, model: Path) -> None:
        self.folder = model.with_name(f"{model.name}.thumbnails")

    def keep(self, images: Iterable[Image.Image], digests: Digests) -> None:
        """Writes small copies of images; what does not fit on the disk is left out, for the lesson counts without."""
        with suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            for image, digest in zip(images, digests, strict=True):
                small = image.convert("RGB")
                small.thumbnail((SIDE, SIDE))
                small.save(self.folder / f"{digest.tobytes().hex()}.jpg", quality=80)
            files = self._files()
            total = sum(size for _, size, _ in files)
            for _, size, path in files:
                if total <= MOST_BYTES:
                    break
                path.unlink()
                total -= size

    def sweep(self, known: Known) -> None:
        """Removes those of images that were taken back, and of files that are no thumbnails."""
        if not self.folder.exists():
            return
        kept = {f"{digest.hex()}.jpg" for digest, _, _ in known.images}
        for _, _, path in self._files():
            if path.name not in kept:
                path.unlink()
        with suppress(OSError):
            self.folder.rmdir()

    def of(self, digests: Iterable[bytes], most: int) -> list[bytes]:
        """The files of images with these digests, the newest first."""
        wanted = {f"{digest.hex()}.jpg" for digest in digests}
        newest = [path for _, _, path in reversed(self._files()) if path.name in wanted]
        return [path.read_bytes() for path in newest[:most]]

    def _files(self) -> list[tuple[int, int, Path]]:
        """When each was written, its bytes and its path; the oldest first."""
        paths = self.folder.iterdir() if self.folder.exists() else []
        return sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in paths)
