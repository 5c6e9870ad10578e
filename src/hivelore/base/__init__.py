"""Shared rooms that the others stand on, a strict stack: identity, search, memories (bottom first)."""
