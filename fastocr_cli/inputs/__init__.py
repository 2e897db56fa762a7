"""What the user names, to documents (`sources.py`, `documents.py`), and the pages asked for.

Kinds are told by content (`sniff.py`). Nothing here opens a document to its pages.
"""
