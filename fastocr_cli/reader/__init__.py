"""The embedded reader: a small vision-language model that ships inside the package."""
