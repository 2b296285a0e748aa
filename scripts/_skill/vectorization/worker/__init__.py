"""The program of a worker process."""
