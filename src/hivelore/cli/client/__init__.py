"""Commands that talk to a running server over HTTP. Standard library only, so that they answer at once."""
