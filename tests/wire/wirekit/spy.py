"""A child that tells every address which it connects to, sends to or looks up, from its first import on.

Python loads `sitecustomize` before anything else; the one written here adds an audit hook that appends a line for each
event of the socket module. What libraries do outside Python is seen by `remote_peers`, which asks the kernel.
"""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from wirekit.processes import SOURCE, environment

_HOOK = """
import json, os, sys

_events = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname",
           "socket.gethostbyaddr", "socket.getnameinfo")
_log = os.open(os.environ["WIRE_SPY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def _hook(event, args):
    if event in _events:
        plain = [each if isinstance(each, (str, int)) else repr(each) for each in args if not hasattr(each, "fileno")]
        for each in args:
            if isinstance(each, tuple):
                plain = list(each)
        os.write(_log, (json.dumps([event, sys.argv, plain], default=repr) + "\\n").encode())

sys.addaudithook(_hook)
"""


@dataclass(frozen=True)
class Spy:
    """Where children write what they did, and the environment that makes them do so."""

    log: Path
    env: dict[str, str]

    def events(self) -> list[tuple[str, list[Any]]]:
        """Every event: its name and its address, host first."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(event, address) for event, _, address in map(json.loads, lines)]

    def outside(self) -> list[tuple[str, list[Any]]]:
        """The events that concern anything but this machine's loopback network and its sockets in the file system."""
        return [(event, address) for event, address in self.events() if not _is_local(address)]


def spy(folder: Path, **extra: str) -> Spy:
    """A spy for children whose environment it makes."""
    site, log = folder / "site", folder / "events.jsonl"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_HOOK)
    path = os.pathsep.join([str(site), str(SOURCE)])
    return Spy(log, environment(**{"WIRE_SPY_LOG": str(log), **extra}) | {"PYTHONPATH": path})


def remote_peers(pid: int) -> list[str]:
    """The addresses outside this machine that a process is connected to, as the kernel knows them."""
    peers: list[Any] = [connection.raddr for connection in psutil.Process(pid).net_connections("inet")]
    return [f"{peer.ip}:{peer.port}" for peer in peers if peer and not _is_local([peer.ip])]


def _is_local(address: list[Any]) -> bool:
    host = address[0] if address else None
    if not isinstance(host, str):
        return False
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
