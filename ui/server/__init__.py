"""What surrounds Streamlit's own server: a filter, settings, one page drawn at a time."""
