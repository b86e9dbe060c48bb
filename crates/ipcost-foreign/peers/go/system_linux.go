package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// transports are those of this platform, in the order of tables.
var transports = []transport{pipe{}, fifo{}, unixPath{}, unixAbstract{}, socketpair{}, tcpOverIPv4, tcpOverIPv6}

// Constants that package syscall lacks; the same on every architecture.
const (
	setPipeSizeCommand = 1031 // F_SETPIPE_SZ, fcntl(2)
	getPipeSizeCommand = 1032 // F_GETPIPE_SZ
	bindAddressNoPort  = 24   // IP_BIND_ADDRESS_NO_PORT, ip(7)
	tcpCongestion      = 13   // TCP_CONGESTION, tcp(7)
)

// init asks the kernel to end this process with the engine, also from within a batch.
//
// The request must come from the main thread, where init runs: it dies with its thread.
func init() {
	// Without it, the end of input is noticed a little later.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
}

// spreadSources lets a client connect from many addresses, unless the cell says otherwise.
//
// It leaves the port to connect, which knows the whole connection and so may use one that another connection from there
// already uses.
func spreadSources(client *dialing, cell *cell, worker int) error {
	if !orElse(cell.Options.SpreadSources, true) {
		return nil
	}
	client.sources = newSources(worker)
	setBuffers := client.dialer.Control
	client.dialer.Control = func(network, address string, socket syscall.RawConn) error {
		if setBuffers != nil {
			if err := setBuffers(network, address, socket); err != nil {
				return err
			}
		}
		return setSocketOption(socket, syscall.IPPROTO_IP, bindAddressNoPort, 1)
	}
	return nil
}

// setCongestion sets a connection's congestion control.
func setCongestion(socket syscall.RawConn, name string) error {
	return withDescriptor(socket, func(descriptor uintptr) error {
		return syscall.SetsockoptString(int(descriptor), syscall.IPPROTO_TCP, tcpCongestion, name)
	})
}

// setPipeSize sets a pipe's capacity and returns the effective one. The kernel rounds it up, and refuses unprivileged
// users more than a limit; the pipe then gets that limit.
func setPipeSize(file *os.File, bytes int) (uint64, error) {
	_, err := pipeControl(file, setPipeSizeCommand, bytes)
	if errors.Is(err, syscall.EPERM) {
		bytes, err = mostPipeBytes()
		if err == nil {
			_, err = pipeControl(file, setPipeSizeCommand, bytes)
		}
	}
	if err != nil {
		return 0, err
	}
	became, err := pipeControl(file, getPipeSizeCommand, 0)
	return uint64(became), err
}

func mostPipeBytes() (int, error) {
	text, err := os.ReadFile("/proc/sys/fs/pipe-max-size")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func pipeControl(file *os.File, command, argument int) (int, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var result uintptr
	err = withDescriptor(raw, func(descriptor uintptr) error {
		var failed syscall.Errno
		result, _, failed = syscall.Syscall(syscall.SYS_FCNTL, descriptor, uintptr(command), uintptr(argument))
		if failed != 0 {
			return failed
		}
		return nil
	})
	return int(result), err
}
