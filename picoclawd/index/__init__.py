"""The index: what the tree holds, which rules hide it, and how it is matched."""
