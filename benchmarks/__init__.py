"""Measurements of speed and memory, run by hand; only what :mod:`.goals` has is asserted."""
