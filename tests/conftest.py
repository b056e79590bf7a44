"""What all tests share: no luck with time."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine must not fail a property: examples have no deadline.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
