"""What Inkwire costs, as ratios within one run. `scripts/bench` prints them all."""
