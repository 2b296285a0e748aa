"""Plans: reading, making and checking them, and what they name: profiles and environments."""
