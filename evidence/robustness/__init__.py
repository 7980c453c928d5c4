"""What is tried to break the program, and what the tests would notice."""
