"""A team of agents around durable channels; knows nothing of screens."""
