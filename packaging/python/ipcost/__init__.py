"""ipcost measures what local inter-process communication costs. It is a program: run ``ipcost`` or ``python -m ipcost``."""

__all__ = ["find_ipcost"]

from ipcost._find import find_ipcost
