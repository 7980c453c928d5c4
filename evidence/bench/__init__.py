"""What runs cost in time, instructions and memory."""
