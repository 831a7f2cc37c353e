"""Files left out without optimizer rules: what works on Spark Connect, too."""
