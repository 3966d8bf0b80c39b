"""What tools/bench measures: see integration/bench."""
