"""What an agent can do: tools, their schemas and their limits."""
