"""Parts of the wire tests: real processes, raw sockets and pipes, and public clients.

Nothing here imports a room, a store or a door: a wire test knows what a user knows, the command and the protocols.
"""
