"""Plain vocabulary: errors, actors, ids, time, text, settings, ports. Standard library only, no I/O."""
