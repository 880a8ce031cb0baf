"""Transfers that a person has to approve: at once, or later, by a call that is kept in a file meanwhile."""
