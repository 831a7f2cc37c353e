"""What the verbs found or did, as plain values. That of `probe` is in `probing.report`."""
