"""How each checkpoint is measured: set-based statements, a fixed number of them per measurement.

One module per station of the flow. A function takes the installation and returns a verdict; it
raises when it cannot measure, and the ledger makes that unmeasured. Which checkpoints exist
belongs to `register`.
"""
