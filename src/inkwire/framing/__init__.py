"""Bytes in, frames out: one framer per wire format, and the rule that picks it by the first bytes."""
