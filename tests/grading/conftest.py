"""The exploits and the example's files are data: importing them is what they wait for."""

collect_ignore = ["exploits", "assignments"]
