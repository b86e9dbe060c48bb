"""``python -m ipcost``: the program, with its arguments."""

import os
import subprocess
import sys

from ipcost import find_ipcost


def main() -> None:
    try:
        program = find_ipcost()
    except FileNotFoundError as error:
        sys.exit(f"ipcost: {error}")
    if sys.platform == "win32":
        sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
    # In place of this process, so that signals and the exit code are the program's.
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
