"""Every setting of the service, each with its help text; the command-line flags are made from here."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from foro.errors import InputError
from foro.util.settings import setting

SHORTEST_TOKEN = 16
"""Characters; a shorter one could be guessed."""


@dataclass(frozen=True)
class ServeConfig:
    """Settings of the service."""

    host: str = setting("127.0.0.1", "Address to listen on; any other than loopback needs a token.")
    port: int = setting(8000, "Port to listen on; 0: any free one.")
    read_token: str | None = setting(None, "Token that may predict, but not teach.", repr=False, env="FORO_READ_TOKEN")
    teach_token: str | None = setting(None, "Token that may do everything.", repr=False, env="FORO_TEACH_TOKEN")
    rate: float = setting(200.0, "Requests a second from one address, in the long run; 0: no limit.")
    most_images: int = setting(64, "Images in one request.")
    most_megabytes: float = setting(32.0, "Megabytes of one request.")
    most_megapixels: float = setting(32.0, "Megapixels of one image.")
    most_request_megapixels: float = setting(128.0, "Megapixels of all images of a request.")
    most_model_megabytes: float = setting(2048.0, "Megabytes of a model that is merged.")
    most_waiting: int = setting(512, "Images that may wait; more are turned away until there is room.")
    save_seconds: float = setting(30.0, "Quiet seconds after which what was learned goes into the model file.")

    keep_thumbnails: bool = setting(False, "Keep small copies of learned images beside the model.")

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InputError(f"the port must lie between 0 and 65535, not {self.port}")
        for name in (
            "most_images",
            "most_megabytes",
            "most_megapixels",
            "most_request_megapixels",
            "most_model_megabytes",
            "most_waiting",
            "save_seconds",
        ):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, not {getattr(self, name)}")
        if not 0 <= self.rate < float("inf"):
            raise InputError(f"rate must not be negative, but is {self.rate}")
        for name in ("read_token", "teach_token"):
            token = getattr(self, name)
            if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
                raise InputError(
                    f"the {name.replace('_', ' ')} needs {SHORTEST_TOKEN} or more printable ASCII characters; "
                    'make one with: python -c "import secrets; print(secrets.token_urlsafe())"'
                )
        if self.read_token and self.read_token == self.teach_token:
            raise InputError("the read token and the teach token must differ")
        if not self.tokens and not is_loopback(self.host):
            raise InputError(
                f"listening on {self.host} needs a token, or anybody could teach: "
                "set FORO_TEACH_TOKEN (and FORO_READ_TOKEN for those who may only predict)"
            )

    @property
    def tokens(self) -> bool:
        """Whether a token is needed."""
        return bool(self.read_token or self.teach_token)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
