"""A page's text: made harmless, cut into blocks, traced back to where it was read.

Reading order: markup.py (characters), tables.py, neutral.py (the gate to Markdown that people
render), blocks.py, tracing.py with confidence.py. Knows no files, formats or models.
"""
