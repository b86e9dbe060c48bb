//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"syscall"
)

// socketpair is a pair of connected Unix sockets created by the engine.
type socketpair struct{}

func (socketpair) name() string       { return "socketpair" }
func (socketpair) connects() bool     { return false }
func (socketpair) unavailable() error { return nil }

type socketEnd struct {
	Fd int `json:"fd"`
}

func (socketpair) serve(address json.RawMessage, cell *cell) (server, error) {
	return serveOpen(address, cell, openSocket)
}

func (socketpair) reach(address json.RawMessage, _ *cell, worker int) (client, error) {
	return reachOpen(address, worker, openSocket)
}

func openSocket(end socketEnd) (channel, error) {
	file, err := takeOver(end.Fd, syscall.S_IFSOCK)
	if err != nil {
		return nil, err
	}
	// FileConn works on a copy of the descriptor.
	defer file.Close()
	return net.FileConn(file)
}

// takeOverPipe returns a file for an inherited pipe end.
func takeOverPipe(descriptor int) (*os.File, error) {
	return takeOver(descriptor, syscall.S_IFIFO)
}

// takeOver returns a file for an inherited descriptor.
//
// It makes the descriptor non-blocking first, as os.Pipe does, so that a goroutine waiting for it holds no thread.
func takeOver(descriptor int, fileType uint32) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("descriptor %d was to be inherited: %w", descriptor, err)
	}
	if descriptor <= syscall.Stderr {
		return fail(syscall.EBADF)
	}
	var status syscall.Stat_t
	if err := syscall.Fstat(descriptor, &status); err != nil {
		return fail(err)
	}
	if uint32(status.Mode)&syscall.S_IFMT != fileType {
		return fail(fmt.Errorf("it is open, but not what the address says"))
	}
	if err := syscall.SetNonblock(descriptor, true); err != nil {
		return fail(err)
	}
	return os.NewFile(uintptr(descriptor), fmt.Sprintf("descriptor %d", descriptor)), nil
}
