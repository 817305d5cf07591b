"""Files: the only floor that opens what a client can name, and what is ours."""
