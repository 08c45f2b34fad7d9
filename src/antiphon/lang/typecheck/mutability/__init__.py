"""Rules about values that can be reached under several names."""
