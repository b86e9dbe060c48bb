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
    command = [program, *sys.argv[1:]]
    try:
        if sys.platform == "win32":
            sys.exit(wait(subprocess.Popen(command)))
        # In place of this process, so that signals and the exit code are the program's.
        os.execv(program, command)
    except OSError as error:
        sys.exit(f"ipcost: cannot start {program}: {error.strerror}")


def wait(program: subprocess.Popen) -> int:
    """The exit code. Ctrl-C reaches the program as well, which then shows what it has measured."""
    while True:
        try:
            return program.wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
