"""Devices that run a program; none is supported yet, see the README."""
