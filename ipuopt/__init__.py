"""Optimiser for programs of Graphcore IPUs: mapping, placement and exchange with bounds."""
