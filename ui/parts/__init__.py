"""What only one page, or the lessons, show."""
