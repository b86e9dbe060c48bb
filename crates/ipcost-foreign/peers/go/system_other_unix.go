//go:build unix && !linux

package main

import (
	"errors"
	"os"
)

// transports are those of this platform, in the order of tables.
var transports = []transport{pipe{}, fifo{}, unixPath{}, socketpair{}, tcpOverIPv4, tcpOverIPv6}

func setPipeSize(*os.File, int) (uint64, error) {
	return 0, errors.New("this system cannot set it")
}
