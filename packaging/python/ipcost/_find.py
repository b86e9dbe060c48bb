"""Where this package's program was installed."""

import os
import sys
import sysconfig


def find_ipcost() -> str:
    """The path of the program.

    Raises FileNotFoundError if it is nowhere that an installer puts programs.
    """
    name = "ipcost" + sysconfig.get_config_var("EXE") if sysconfig.get_config_var("EXE") else "ipcost"
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    schemes = [sysconfig.get_preferred_scheme("user")] if sys.version_info >= (3, 10) else ["posix_user"]
    places = [sysconfig.get_path("scripts")]
    places += [sysconfig.get_path("scripts", scheme) for scheme in schemes if scheme in sysconfig.get_scheme_names()]
    # With --target, and with --prefix.
    places += [os.path.join(package, "bin"), os.path.join(package, "..", "..", "..", "bin")]
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"{name} is in none of {', '.join(places)}; install the package anew: pip install --force-reinstall ipcost")
