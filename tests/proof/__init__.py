"""Harnesses that try to break what is promised, one file a claim; README.md beside this tells how to run them long."""
