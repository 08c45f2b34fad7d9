"""Programs at work: modules loaded once, runs with their history, values, and the effects that reach the world."""
