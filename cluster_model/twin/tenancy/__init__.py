"""Tenants in the twin: who may reach whom, and whether they do."""
