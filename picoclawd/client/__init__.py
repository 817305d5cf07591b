"""Clients: picoclawctl, the MCP bridge, the demo. They speak to the daemon over its sockets only."""
