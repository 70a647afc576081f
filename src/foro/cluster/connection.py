"""The Ray cluster: found or started, without output of its own and without reports to its makers."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from foro.errors import EngineError, FoRoError, first_line

ATTEMPTS = 3
KNOCK_SECONDS = 5.0
INSTALL = "every machine of the cluster needs the same foro with its ray extra"
TOKEN = "if it wants a token, set RAY_AUTH_MODE=token"

_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}


def import_ray() -> Any:
    """The module ray, or an error that says how to get it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when ray starts: nothing is reported to its makers
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise EngineError(f'the Ray engine needs the ray extra: pip install "foro[ray]" ({error})') from None
    return ray


def connect(address: str | None = None) -> Any:
    """The module ray, connected to the cluster in use, to the one at an address, or to a new one on this machine."""
    ray = import_ray()
    if ray.is_initialized():
        return ray
    address = address or os.environ.get("RAY_ADDRESS")
    if not address:
        return start()
    try:
        _knock(address)
        ray.init(address=address, **_QUIET)
    except Exception as error:  # ray raises anything from ValueError to RuntimeError here
        raise EngineError(f"the Ray cluster at {address} cannot be reached: {first_line(error)}; {TOKEN}") from None
    return _silenced(ray)


def start(**options: Any) -> Any:
    """The module ray, connected to a new cluster on this machine, with other options of ``ray.init`` if any."""
    ray = import_ray()
    for attempt in range(ATTEMPTS):
        try:
            ray.init(address="local", include_dashboard=False, **_QUIET, **options)
            return _silenced(ray)
        except Exception as error:
            ray.shutdown()
            # On a busy machine Ray gives up after half a minute.
            if "timed out during startup" not in str(error) or attempt == ATTEMPTS - 1:
                raise EngineError(f"Ray cannot be started here: {first_line(error)}") from None
    raise AssertionError("unreachable")


def _knock(address: str) -> None:
    """Fails within seconds where nothing answers; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _silenced(ray: Any) -> Any:
    # Ray reports every worker that dies on our standard output, and has no setting against it.
    ray._private.worker._worker_logs_enabled = False
    return ray


def failure(error: Any, what: str) -> FoRoError:
    """The error to raise when something on the cluster has failed for good."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, FoRoError):
        return cause
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if "creation task" in str(error) or isinstance(cause, ImportError):
        return EngineError(f"{what} could not be started: {lines[-1]}; {INSTALL}")
    return EngineError(f"{what} failed: {lines[-1] if cause else lines[0]}")
