"""``python -m ipuopt``."""

from ipuopt.cli import main

if __name__ == "__main__":
    main(prog_name="ipuopt")
