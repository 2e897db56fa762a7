"""Where the decoder looked while it read one page: recorded, packed, replayed, drawn."""
