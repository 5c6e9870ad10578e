"""The REST API under /api/v1 (contract: Memmy), on the same port and the same memories as the MCP tools."""
