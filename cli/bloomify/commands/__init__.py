"""The commands of `bloomify`: one thin module for each verb."""
