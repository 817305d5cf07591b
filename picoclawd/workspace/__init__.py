"""The workspace: who asks, what changes, and in which order."""
