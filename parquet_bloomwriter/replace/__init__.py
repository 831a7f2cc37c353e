"""Put a new version of a file in the place of the old one, safely."""
