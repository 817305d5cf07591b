"""The tools: one public module a tool."""
