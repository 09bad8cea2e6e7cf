"""The audit: any trace in, the broken rule out."""
