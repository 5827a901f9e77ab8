"""``minispec measure``: an experiment over prompts, each decoded in every way, in turns; and what it found."""
