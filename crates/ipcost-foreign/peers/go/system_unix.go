//go:build unix

package main

import (
	"net"
	"runtime"
	"syscall"
)

// ownUsage is the usage of this process since its start, all threads.
func ownUsage() usage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return usage{}
	}
	return usage{
		UserNs:              uint64(used.Utime.Nano()),
		SysNs:               uint64(used.Stime.Nano()),
		VoluntarySwitches:   uint64(used.Nvcsw),
		InvoluntarySwitches: uint64(used.Nivcsw),
	}
}

func setSocketOption(socket syscall.RawConn, level, option, value int) error {
	return withDescriptor(socket, func(descriptor uintptr) error {
		return syscall.SetsockoptInt(int(descriptor), level, option, value)
	})
}

// bufferSize is the size of a socket's buffer in the unit of the request: Linux keeps it doubled.
func bufferSize(socket syscall.RawConn, option int) (uint64, error) {
	var bytes int
	err := withDescriptor(socket, func(descriptor uintptr) (err error) {
		bytes, err = syscall.GetsockoptInt(int(descriptor), syscall.SOL_SOCKET, option)
		return err
	})
	if runtime.GOOS == "linux" {
		bytes /= 2
	}
	return uint64(bytes), err
}

// probeUnix reports whether there are Unix sockets: every Unix has them.
func probeUnix() error { return nil }

// setBacklog listens again: package net uses the system's limit, and a second call only changes the queue's length.
func setBacklog(listener net.Listener, connections int) error {
	socket, err := rawConnection(listener)
	if err != nil {
		return err
	}
	return withDescriptor(socket, func(descriptor uintptr) error {
		return syscall.Listen(int(descriptor), connections)
	})
}
