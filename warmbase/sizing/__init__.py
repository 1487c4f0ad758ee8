"""Pure arithmetic and the domain's types: workload and facts in, plan out.

Nothing here reads a file, a clock or a network. Facts about the world arrive as values.
"""
