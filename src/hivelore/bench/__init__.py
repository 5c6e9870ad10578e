"""Measuring recall on evaluation sets: the real path in, the real path out, and figures that can be compared.

`sets` reads what others published, `ingest` stores it, `runner` asks the questions, `metrics` counts, `report` and
`compare` say what came out. The command is `hivelore bench` (`cli/bench_cmd.py`).
"""
