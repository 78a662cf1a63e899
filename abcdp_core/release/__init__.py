"""Somebody's own data: reading a file, the request, exact noise, and the document released."""
