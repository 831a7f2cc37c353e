"""The command `bloomify`: parse, call one verb, print one report."""
