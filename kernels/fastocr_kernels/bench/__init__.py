"""`python -m fastocr_kernels.bench`: the attention of a decode step, alone, timed on this machine.

Knows shapes and clocks and nothing of models. `cases.py` makes the data, `contestants.py` the ways
to attend, `timing.py` the samples, `report.py` the table and the JSON.
"""
