package main

import (
	"errors"
	"net"
	"syscall"
)

// transports are those of this platform, in the order of tables.
var transports = []transport{pipe{}, npipe{}, unixPath{}, tcpOverIPv4, tcpOverIPv6}

// ownUsage is the usage of this process since its start, all threads, without switches.
func ownUsage() usage {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return usage{}
	}
	var began, ended, system, user syscall.Filetime
	if err := syscall.GetProcessTimes(process, &began, &ended, &system, &user); err != nil {
		return usage{}
	}
	return usage{UserNs: nanoseconds(user), SysNs: nanoseconds(system)}
}

// nanoseconds converts a duration from units of 100 ns.
func nanoseconds(length syscall.Filetime) uint64 {
	return (uint64(length.HighDateTime)<<32 | uint64(length.LowDateTime)) * 100
}

func setSocketOption(socket syscall.RawConn, level, option, value int) error {
	return withDescriptor(socket, func(descriptor uintptr) error {
		return syscall.SetsockoptInt(syscall.Handle(descriptor), level, option, value)
	})
}

func bufferSize(socket syscall.RawConn, option int) (uint64, error) {
	var bytes int
	err := withDescriptor(socket, func(descriptor uintptr) (err error) {
		bytes, err = syscall.GetsockoptInt(syscall.Handle(descriptor), syscall.SOL_SOCKET, option)
		return err
	})
	return uint64(bytes), err
}

// probeUnix reports whether there are Unix sockets, which came with version 1803 of Windows 10.
func probeUnix() error {
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return syscall.Closesocket(socket)
}

func setBacklog(net.Listener, int) error {
	return errors.New("this system cannot change it")
}
