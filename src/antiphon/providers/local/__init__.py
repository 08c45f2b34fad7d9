"""Models that run in this process: their weights, and the provider that speaks to them."""
