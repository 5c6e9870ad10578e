"""One file (or family of files) per implementation of a port. They know `core` and their own library, nothing else."""
