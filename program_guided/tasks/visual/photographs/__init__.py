"""Photographs: features of one's own pictures, and what an executor learns from a few hundred of them."""
