"""A live poll of people in a room: held in memory, answered on telephones, shown on a screen."""
