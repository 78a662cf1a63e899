"""Theory of the sparse vector: closed forms and exact recursions, with source and scope."""
