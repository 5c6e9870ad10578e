"""What all doors share: operations as values, the one gate that runs them, and the words for errors."""
