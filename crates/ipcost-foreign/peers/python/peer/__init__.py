"""An ipcost peer in Python: plays client or server of one cell and speaks the control protocol."""
