"""The search benchmark: what a search costs here, beside what an agent would run instead."""
