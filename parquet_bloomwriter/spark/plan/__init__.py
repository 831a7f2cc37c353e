"""What Spark's plans say: relations, tables, types, and the indexes that match them."""
