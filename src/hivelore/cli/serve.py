"""`hivelore serve`: the server in the foreground."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from hivelore.app import data_dir, database_url
from hivelore.cli.logs import configure_logging
from hivelore.cli.start import noted, running
from hivelore.core.errors import Unavailable
from hivelore.core.settings import Settings
from hivelore.core.settings_load import mask
from hivelore.doors import web
from hivelore.doors.profiles import profile

# After how many new objects Python looks for garbage in cycles (its own: 700, 10, 10). A request makes thousands that
# die without its help, and looking after every 700 cost a tenth of a recall.
GARBAGE_THRESHOLDS = (50_000, 20, 100)


def run(args: Namespace) -> int:
    """Serve until SIGTERM or SIGINT."""
    settings: Settings = args.loaded.settings
    configure_logging(settings)
    tools = profile(settings.mcp_profile)
    listener = listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    with listener, running(settings) as application, noted(settings, base_url(settings, port)):
        app = web.build(application.hub, tools)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
            server_header=False,
            date_header=False,
        )
        server = _Server(config, lambda: announce(settings, port))
        server.run(sockets=[listener])
    return 0


class _Server(uvicorn.Server):
    """Uvicorn that says when it is ready, and ends quietly on SIGTERM and SIGINT."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.set_threshold(*GARBAGE_THRESHOLDS)
            gc.freeze()  # what is there now stays: modules, schemas, routes
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or `Unavailable` that says who may be in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only for sockets that say they are TCP;
    # with it on, every answer waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(512)
    except OSError as exc:
        listener.close()
        raise Unavailable(
            f"Cannot listen on {host}:{port}: {exc.strerror}. Another server may be running there; "
            "choose another port with --port or HIVELORE_PORT."
        ) from exc
    return listener


def base_url(settings: Settings, port: int) -> str:
    """Where clients on this machine reach the server."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def store_shown(settings: Settings) -> str:
    """Where the memories are, for people: the SQLite file, or the database without its password."""
    if settings.database_url == "memory":
        return "in memory only: nothing is kept"
    return str(mask("database_url", database_url(settings))).removeprefix("sqlite:///")


def announce(settings: Settings, port: int) -> None:
    """Say where the server is and how to connect clients to it."""
    base = base_url(settings, port)
    url = base + settings.mcp_path
    with_key = bool(settings.api_keys)
    header = ' --header "Authorization: Bearer YOUR_KEY"' if with_key else ""
    headers = ', "headers": {"Authorization": "Bearer YOUR_KEY"}' if with_key else ""
    sys.stdout.write(
        f"""hivelore is ready.

  MCP    {url}
  REST   {base}/api/v1
  data   {data_dir(settings)}
  store  {store_shown(settings)}

Connect a client:
  Claude Code      claude mcp add --transport http hivelore {url}{header}
  Cursor           ~/.cursor/mcp.json:  {{"mcpServers": {{"hivelore": {{"url": "{url}"{headers}}}}}}}
  Codex            ~/.codex/config.toml:  [mcp_servers.hivelore]
                                          url = "{url}"
  Claude Desktop   claude_desktop_config.json:
                   {{"mcpServers": {{"hivelore": {{"command": "{sys.executable}", "args": ["-m", "hivelore",
                   "stdio"]}}}}}}
  any other        {{"mcpServers": {{"hivelore": {{"type": "http", "url": "{url}"{headers}}}}}}}

Stop with Ctrl-C.
"""
    )
    sys.stdout.flush()
    logging.getLogger("hivelore").info("ready url=%s", url)
