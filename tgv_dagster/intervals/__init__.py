"""Interval data of every kind: who occupies which space, and who may write it (INTV-01 to 09).

Here belong the comparison of intervals, its picture, and the one way to write interval tables.
What a trip or a time entry means belongs to the rooms that read and show them.
"""
