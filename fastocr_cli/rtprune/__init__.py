"""RTPrune: a shorter prefill for models whose visual tokens are patches of the page.

Reading order: settings.py (what the user may choose), density.py and selection.py (which tokens
stay), transport.py (what becomes of the others), prune.py (the method as one function), hook.py
(its place in prefill). The method is that of arXiv 2605.00392, rebuilt from a description of the
released algorithm. This package knows tensors and layouts, but no model family.
"""
