"""The loop: run, turn, tool call; what it may do, what it remembers."""
