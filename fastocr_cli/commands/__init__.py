"""The lesser commands, one file each, and the flags of all (`flags.py`).

Their modules load nothing heavy: `--help` imports them.
"""
