"""The MCP transports: the only package that imports the MCP SDK."""
