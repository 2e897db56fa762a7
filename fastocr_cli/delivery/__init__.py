"""Where outputs go and how they get there: destinations, files that are ours, standard output."""
