"""Readers of the transcripts that agents leave on disk: one module per source, values out, no database.

`model` holds what every reader yields, `jsonl` what every reader of JSON lines needs. Storing is the business
of `rooms/transcripts`.
"""
