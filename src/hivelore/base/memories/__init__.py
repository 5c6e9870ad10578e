"""The one memory table and its one writer, shared by every room that keeps something worth keeping.

A memory is kept whole, with its provenance; an update keeps the earlier text as a revision, a removal takes text,
index, revisions and links and leaves a tombstone without content. Rooms keep what is special to their kind in tables
of their own, keyed by the memory's id.
"""
