"""The command line: one file per command. Commands format; whatever they show is computed below."""
