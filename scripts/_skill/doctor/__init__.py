"""What a machine has for training and what it lacks: one file for each subject, each bounded in time."""
