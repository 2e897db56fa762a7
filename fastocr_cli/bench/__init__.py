"""Measuring: what pruning costs in accuracy and saves in time."""
