"""Data with sources: board models, driver branches and CUDA versions, fault codes.

Each YAML file names the day on which it was read, its sources, and how far to trust each entry; the module of the same
name reads it strictly. What a catalog says of a model is a fact like any other; what is expected is for rules.yaml.
"""
