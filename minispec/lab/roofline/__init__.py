"""The memory-bound analysis: what a forward reads and computes, what a machine can do, and how long that must take."""
