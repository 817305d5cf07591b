"""JSON-RPC 2.0 over Unix sockets: framing, order, cancellation, backpressure."""
