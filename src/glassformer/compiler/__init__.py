"""From a machine to weights: constructions as programs over named registers, with certificates.

Nothing is imported here: what only counts layers (`classification`, the plans in `constructions`) needs no torch.
"""
