"""Providers as data: a model's name and the environment in, the place where the request goes out."""

from inkwire.providers.base import Provider, Target
from inkwire.providers.catalog import CATALOG
from inkwire.providers.resolve import resolve

__all__ = ["CATALOG", "Provider", "Target", "resolve"]
