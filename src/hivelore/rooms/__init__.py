"""One folder per feature. Rooms are strangers to each other; what they share sits in `hivelore.base`."""
