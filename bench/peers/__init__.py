"""hivelore beside other memory servers for agents: the same memories, the same questions, the same client.

Each server runs as its documentation says for a desktop client: started by the client, MCP over standard input and
output. The others live in environments of their own under `.cache/`; nothing of the project needs them.
"""
