"""The daemon: configuration, log, and the nursery block that is its life."""
