"""What follows from theory: closed forms only, on arrays, with their source and their scope."""
