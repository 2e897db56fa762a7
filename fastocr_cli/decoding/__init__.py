"""The decode engine: cache, attention hook, greedy loop, stopping."""
