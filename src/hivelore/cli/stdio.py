"""`hivelore stdio`: MCP over standard input and output.

When a server runs on the same data folder, this process only relays to it: one process then owns the model and the
file, however many clients an editor starts, and a client starts in a tenth of a second. Without one, or with
`--in-process`, the work is done here.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from hivelore.cli.client import relay
from hivelore.core.settings import Settings


def run(args: Namespace) -> int:
    """Serve until the client closes standard input."""
    settings: Settings = args.loaded.settings
    users = {pair.partition(":")[2] for pair in settings.api_keys}
    if not (args.in_process or args.user or settings.database_url or len(users) > 1):  # several: `whose` asks for one
        endpoint = relay.find_server(Path(settings.data_dir).expanduser().absolute())
        if endpoint is not None:
            return relay.run(endpoint, first_key(settings))
    return in_process(settings, args.user)


def first_key(settings: Settings) -> str:
    """The key to present to a server that asks for one."""
    return settings.api_keys[0].partition(":")[0] if settings.api_keys else ""


def in_process(settings: Settings, user: str | None) -> int:
    """Open the store here. Who can start this process can read its store, so no key is asked for: `user` names whose
    memories they are (default: the user of the only key, or `local`)."""
    from hivelore.base.identity.service import FixedAuth
    from hivelore.cli.logs import configure_logging
    from hivelore.cli.start import running, whose
    from hivelore.doors.mcp import stdio
    from hivelore.doors.profiles import profile

    configure_logging(settings)
    relay.end_with_parent()  # safe at any moment: what is not committed was not acknowledged
    tools = profile(settings.mcp_profile)
    with running(settings, authenticator=FixedAuth(whose(settings, user))) as application:
        stdio.serve(application.hub, tools, None)
    return 0
