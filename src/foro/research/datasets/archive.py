"""Finds a published data set: in a folder that the user names or in the cache, or downloads it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foro.errors import DataError
from foro.research.datasets.download import RemoteFile, download
from foro.research.datasets.unpack import unpack
from foro.util.lock import locked
from foro.util.system import cache_dir


@dataclass(frozen=True)
class Archive:
    """A data set's official archive: the folder it unpacks to, and a pattern that some entry of that folder matches."""

    remote: RemoteFile
    folder: str
    sign: str

    def find(self, data_dir: str | os.PathLike[str] | None = None) -> Path:
        """The unpacked folder.

        ``data_dir`` is that folder or the one that contains it, and is only read; without it the folder is in the
        cache, and is downloaded if it is not there yet.
        """
        if data_dir is not None:
            if not Path(data_dir).is_dir():
                raise DataError(f"there is no folder {data_dir}")
            for folder in (Path(data_dir), Path(data_dir) / self.folder):
                if self._is_at(folder):
                    return folder
            raise DataError(f"{data_dir} neither is nor contains a folder {self.folder} with {self.sign} in it")
        datasets = cache_dir() / "datasets"
        folder = datasets / self.folder
        if folder.is_dir():
            return folder
        with locked(datasets / f"{self.folder}.lock"):
            if not folder.is_dir():  # another process may have been here while this one waited
                path = download(self.remote, datasets)
                unpack(path, folder)
                path.unlink()
        return folder

    def _is_at(self, folder: Path) -> bool:
        return folder.is_dir() and any(folder.glob(self.sign))
