"""minispec."""
