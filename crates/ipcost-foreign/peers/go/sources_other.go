//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// spreadSources refuses what this system lacks: its loopback has only one address.
func spreadSources(_ *dialing, cell *cell, _ int) error {
	if orElse(cell.Options.SpreadSources, false) {
		return errors.New("spread_sources=true cannot be followed on this system")
	}
	return nil
}

// setCongestion refuses what this system lacks.
func setCongestion(syscall.RawConn, string) error {
	return errors.New("this system cannot set it")
}
