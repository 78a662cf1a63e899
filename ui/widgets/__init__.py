"""Knobs in the sidebar and on pages, links to share, and two settings beside each other."""
