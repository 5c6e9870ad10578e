"""What the world sees. One folder per dialect; `kit` is what they share. Rooms never know a door."""
