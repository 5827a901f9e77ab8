"""What follows from figures: what a step costs, where the time went, how long to draft, where two runs part ways."""
