"""The operator's page: a web server on this machine's loopback, in a process of its own, and the one page it serves."""
