"""InfiniBand in the twin: ibsim plays switches and adapters, and OpenSM runs them from the rendered files."""
