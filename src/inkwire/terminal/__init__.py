"""A face of the agent: its events become lines of text, a person's keys become prompts and answers."""
