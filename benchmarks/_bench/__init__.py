"""What the benchmarks share: the machine, a measured process, a summary of repeated runs, and who is measured."""
