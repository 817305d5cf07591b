"""picoclawd: one safe, fast, shared file system toolbox for several agents and the person beside them."""
