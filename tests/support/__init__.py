"""What many tests share: stores to run on, hubs with fixed time and ids, people, texts."""
