"""The one index behind every door: chunks, text index, vectors, ranking.

A room that wants something found calls `put` in the transaction that writes it and `drop` when it goes; search knows
nothing else about rooms. Everything kept here is derived and can be rebuilt from the rooms' rows. Text is findable at
commit; vectors follow through the job queue.
"""
