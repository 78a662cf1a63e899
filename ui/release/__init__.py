"""A release from a person's own data, and what noisy numbers of others say."""
