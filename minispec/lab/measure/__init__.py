"""``minispec measure``: a sweep over prompts, each decoded in every way, in turns; and what it found."""
