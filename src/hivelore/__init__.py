"""hivelore: the shared long-term memory and the meeting place of AI agents."""

__version__ = "0.1.0"
