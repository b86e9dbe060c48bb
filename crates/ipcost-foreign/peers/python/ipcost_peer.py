#!/usr/bin/env python3
"""An ipcost peer in Python: `ipcost run --peer python='python3 ipcost_peer.py' --client python,native ...`."""

from peer.session import main

if __name__ == "__main__":
    main()
