"""Where this package's program was installed."""

import os
import sys
import sysconfig


def find_ipcost() -> str:
    """The path of the program.

    Raises FileNotFoundError if it is nowhere that an installer puts programs.
    """
    name = "ipcost" + (sysconfig.get_config_var("EXE") or "")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.version_info >= (3, 10):
        user = sysconfig.get_preferred_scheme("user")
    else:
        user = f"{os.name}_user"
    places = [sysconfig.get_path("scripts")]
    if user in sysconfig.get_scheme_names():
        places.append(sysconfig.get_path("scripts", user))
    # With --target, and with --prefix: next to the packages, or above lib/pythonX.Y/site-packages.
    places += [os.path.join(package, "bin"), os.path.join(package, *[os.pardir] * 3, "bin")]
    places = list(dict.fromkeys(map(os.path.normpath, places)))
    for place in places:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            return path
    looked = ", ".join(places)
    raise FileNotFoundError(f"{name} is in none of {looked}; reinstall the package: pip install --force-reinstall ipcost")
