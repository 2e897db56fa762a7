"""One adapter per model family, and the choice between them (`loading.load_adapter`)."""
