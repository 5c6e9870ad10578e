"""Remembering and recalling texts: what the memory tools, the REST memory routes and the CLI do.

A remembered text is kept whole as one memory; when it is longer than a chunk, its pieces get ids of their own
(`parts`), which is what the MCP contract hands out. Recall searches every kind of memory that the caller may see.
"""
