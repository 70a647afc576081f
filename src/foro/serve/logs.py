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
    """Sends every log to standard error: our own, the HTTP server's, and those of all libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    logging.basicConfig(handlers=[handler], level="WARNING", force=True)
    LOGGER.setLevel(level.upper())
    if level != "info":  # our own log says when the HTTP server starts and stops
        logging.getLogger("uvicorn.error").setLevel(level.upper())
