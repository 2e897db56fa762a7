"""What a person sees on standard error: the console's lines and the progress display."""
