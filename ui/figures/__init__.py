"""Figures on pages, with captions, labels, theory and files to save."""
