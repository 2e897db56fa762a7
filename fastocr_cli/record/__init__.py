"""What happens in a run (`events.py`) and what is kept of it: journal and report."""
