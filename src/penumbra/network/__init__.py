"""Evaluators: what turns the synopsis of an information state into a policy and a value."""
