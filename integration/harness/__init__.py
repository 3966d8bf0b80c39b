"""What the end-to-end tests stand on: worlds, guests, origins, claims."""
