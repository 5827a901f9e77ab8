"""Measurements, and what they mean."""
