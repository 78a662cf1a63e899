"""Figures, data and settings to files."""
