"""Private releases from a person's own data: reading, request, exact noise, and record."""
