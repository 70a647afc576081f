"""One JSON object a line on standard error: what a log collector wants, and what a text field cannot break out of."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone

LOGGER = logging.getLogger("foro.serve")


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, message, and everything under ``extra={"facts": {...}}``."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log(message: str, level: int = logging.INFO, **facts: object) -> None:
    LOGGER.log(level, message, extra={"facts": facts})


def start_logging(level: str) -> None:
    """Sends the service's log and the HTTP server's to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    for name in ("foro.serve", "uvicorn.error", "py.warnings"):  # uvicorn's access log is off: ours has the request id
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    if level == "info":
        logging.getLogger("uvicorn.error").setLevel("WARNING")  # our own log says when it starts and stops
