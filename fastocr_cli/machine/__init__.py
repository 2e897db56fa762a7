"""What is on this machine, and whether it works: models, versions, devices, a page to test with."""
