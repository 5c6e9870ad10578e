"""`python -m hivelore` is the `hivelore` command."""

from hivelore.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
