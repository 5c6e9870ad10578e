"""Being a user to whom file permissions apply, which they do not for root."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Run the block without root's right to ignore file permissions."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that an ordinary user may enter; pytest's own temporary folders are private."""
    with tempfile.TemporaryDirectory(prefix="hivelore-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
