"""What Tongs keeps for itself: trust, the definition cache, spools and the log.

All of it lies in the user's state folder (0700), which no tool can be granted.
"""
