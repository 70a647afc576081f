"""A real HTTP server on this machine that can misbehave like the real ones."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from foro.research.datasets.download import RemoteFile


@dataclass
class Site:
    """One file at one address; the settings may change between requests."""

    content: bytes
    etag: str | None = '"first"'
    ranges: bool = True
    status: int | None = None
    says_length: bool = True
    cuts: list[int] = field(default_factory=list)
    """Bytes after which each of the next connections breaks off."""
    wrong_range: bool = False
    requests: list[str | None] = field(default_factory=list)
    """The Range header of every request."""
    address: str = ""

    def remote(self, content: bytes | None = None) -> RemoteFile:
        """What the site's owner says is there."""
        content = self.content if content is None else content
        return RemoteFile(self.address, len(content), hashlib.md5(content).hexdigest())


@contextmanager
def serve(content: bytes, file_name: str = "archive.tar") -> Iterator[Site]:
    site = Site(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/moved/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/moved"))
                self.end_headers()
                return
            site.requests.append(self.headers["Range"])
            if site.status:
                self.send_error(site.status)
                return
            start = self._start()
            if start > len(site.content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                shown = start + site.wrong_range
                self.send_header("Content-Range", f"bytes {shown}-{len(site.content) - 1}/{len(site.content)}")
            if site.says_length:
                self.send_header("Content-Length", str(len(site.content) - start))
            if site.etag:
                self.send_header("ETag", site.etag)
            self.end_headers()
            rest = site.content[start:]
            with suppress(ConnectionError):  # the client may have seen enough
                self.wfile.write(rest[: site.cuts.pop(0)] if site.cuts else rest)

        def _start(self) -> int:
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
            same = self.headers["If-Range"] in (None, site.etag)
            return int(asked[1]) if asked and same and site.ranges else 0

        def log_message(self, format: str, *args: object) -> None:
            """Not on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_port}/{file_name}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
