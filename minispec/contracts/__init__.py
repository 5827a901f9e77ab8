"""Executable laws."""
