"""Logging of the server: one line per event on standard error, as text or JSON. Payloads and secrets are never
logged."""

from __future__ import annotations

import json
import logging
import sys

from hivelore.core.settings import Settings


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure_logging(settings: Settings) -> None:
    """Send the log to standard error (standard output belongs to answers and to the stdio protocol)."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else plain)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    level = logging.getLevelNamesMapping().get(settings.log_level.upper(), logging.INFO)
    logging.getLogger("hivelore").setLevel(level)
