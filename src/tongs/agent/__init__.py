"""A model that uses tools: the loop between them, and the way to the models' providers."""
