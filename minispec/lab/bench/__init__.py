"""``minispec bench``: what every part of decoding costs on this machine, and what speculation gains there."""
