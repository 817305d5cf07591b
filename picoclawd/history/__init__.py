"""What was changed, by whom, and how to undo it: intents, versions, kept contents and the trash, on SQLite."""
