"""The `hivelore` command. `main` imports the module of a command only when that command was chosen."""
