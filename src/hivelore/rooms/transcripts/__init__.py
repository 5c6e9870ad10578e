"""Conversations kept verbatim: whole sessions that an agent saves, and turns imported from agents' own transcripts.

Both are memories (kinds `session` and `turn`), so recall finds their passages; this room keeps what is special to them:
which session a memory is, which conversation, message and file a turn came from, and how far each file was read.
"""
