"""What a page is, and what its knobs stand at."""
