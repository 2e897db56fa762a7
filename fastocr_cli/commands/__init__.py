"""The lesser commands, one file each. Their modules load nothing heavy: `--help` imports them."""
