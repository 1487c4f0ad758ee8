"""The figures, inputs and plots of engines other than HBase."""
