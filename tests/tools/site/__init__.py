"""What a visitor of the built site sees, loads and waits for."""
