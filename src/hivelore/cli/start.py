"""What `serve`, `stdio`, `import` and `doctor` share: the private data folder, a started application, the server's
note.

The note (`server.json` in the data folder) says where the running server listens, so that `hivelore stdio` and `doctor`
find it. It is a hint: whoever reads it asks the server before believing it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hivelore.app import Application, build, data_dir
from hivelore.core.actor import LOCAL_USER
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings
from hivelore.sql.database import StoreReadOnly

NOTE = "server.json"


def prepare_folder(settings: Settings) -> Path:
    """Make the data folder, private to its owner."""
    folder = data_dir(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.stat(folder).st_uid == os.getuid():
            os.chmod(folder, 0o700)
    except OSError as exc:
        raise StoreReadOnly(
            f"Cannot use the data folder {folder}: {exc.strerror}. Choose another with --data or HIVELORE_DATA_DIR."
        ) from exc
    return folder


@contextmanager
def running(settings: Settings, **overrides: Any) -> Iterator[Application]:
    """An application that is started here and stopped at the end, whatever happens."""
    prepare_folder(settings)
    os.umask(0o077)  # whatever is written from here on is private
    application = Application(build(settings, **overrides))
    try:
        application.start()
        yield application
    finally:
        application.stop()


@contextmanager
def noted(settings: Settings, url: str) -> Iterator[None]:
    """Leave the note while the server runs. The newest server's note wins; each removes only its own."""
    path = data_dir(settings) / NOTE
    written = json.dumps({"pid": os.getpid(), "url": url, "mcp_path": settings.mcp_path})
    partial = path.with_name(f"{NOTE}.{os.getpid()}")
    try:
        partial.write_text(written)
        os.replace(partial, path)
    except OSError:  # a folder on a full disk must not keep the server from serving
        with suppress(OSError):
            partial.unlink()
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_text() == written:
                path.unlink()


def whose(settings: Settings, user: str | None) -> str:
    """The user whose memories a process on this machine works with."""
    users = sorted({pair.partition(":")[2] for pair in settings.api_keys})
    if user:
        return user
    if len(users) > 1:
        raise Invalid(f"Several users have keys ({', '.join(users)}); say whose memories are meant with --user NAME.")
    return users[0] if users else LOCAL_USER
