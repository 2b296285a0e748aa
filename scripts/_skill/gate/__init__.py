"""The gate: what would run, its digest, consent to it, the launch, and the record of how it ended."""
