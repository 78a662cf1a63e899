"""Measurements of speed and memory, run by hand; nothing here is asserted."""
