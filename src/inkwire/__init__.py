"""Inkwire."""
