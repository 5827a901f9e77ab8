"""Pictures of runs, made from events and results only."""
