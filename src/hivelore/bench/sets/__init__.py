"""Readers of evaluation sets, one module per published format. Each gives `EvalSet`s; `detect` chooses among them."""
