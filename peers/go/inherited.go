//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"syscall"
)

// pipe is a pair of anonymous pipes that the engine made, one for each direction.
type pipe struct{}

func (pipe) name() string       { return "pipe" }
func (pipe) connects() bool     { return false }
func (pipe) unavailable() error { return nil }

type pipeEnds struct {
	ReadFd  int `json:"read_fd"`
	WriteFd int `json:"write_fd"`
}

func (pipe) serve(address json.RawMessage, cell *cell) (server, error) {
	return serveOpen(address, cell, openPipes)
}

func (pipe) reach(address json.RawMessage, _ *cell, worker int) (client, error) {
	return reachOpen(address, worker, openPipes)
}

func openPipes(ends pipeEnds) (channel, error) {
	read, err := takeOver(ends.ReadFd, syscall.S_IFIFO)
	if err != nil {
		return nil, err
	}
	write, err := takeOver(ends.WriteFd, syscall.S_IFIFO)
	if err != nil {
		return nil, err
	}
	return &pipePair{read, write}, nil
}

// pipePair is one file for each direction.
type pipePair struct {
	read, write *os.File
}

func (p *pipePair) Read(buffer []byte) (int, error) { return p.read.Read(buffer) }
func (p *pipePair) Write(bytes []byte) (int, error) { return p.write.Write(bytes) }

func (p *pipePair) Close() error {
	if err := p.write.Close(); err != nil {
		return err
	}
	return p.read.Close()
}

// socketpair is a pair of connected Unix sockets that the engine made.
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

// takeOver makes a file of a descriptor that this process has inherited.
//
// It is made non-blocking first, as os.Pipe makes its own, so that a goroutine that waits for it holds no thread.
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

// openServer is a server whose channels are all open from the start.
type openServer struct {
	where    json.RawMessage
	channels chan channel
	became   effective
}

// serveOpen opens the channel of every worker.
func serveOpen[T any](address json.RawMessage, cell *cell, open func(T) (channel, error)) (*openServer, error) {
	server := &openServer{where: address, channels: make(chan channel, cell.Concurrency)}
	for worker := 0; worker < int(cell.Concurrency); worker++ {
		channel, err := openOf(address, worker, open)
		if err != nil {
			return nil, err
		}
		server.channels <- channel
	}
	return server, nil
}

func (s *openServer) address() any             { return s.where }
func (s *openServer) accept() (channel, error) { return <-s.channels, nil }
func (s *openServer) effective() effective     { return s.became }

// openClient is a client whose channel is open from the start.
type openClient struct {
	channel channel
}

func reachOpen[T any](address json.RawMessage, worker int, open func(T) (channel, error)) (client, error) {
	channel, err := openOf(address, worker, open)
	return openClient{channel}, err
}

func (c openClient) connect() (channel, error) { return c.channel, nil }
func (c openClient) retries() uint64           { return 0 }
func (c openClient) effective() effective      { return nil }

func openOf[T any](address json.RawMessage, worker int, open func(T) (channel, error)) (channel, error) {
	own, err := readAddressOf[T](address, worker)
	if err != nil {
		return nil, err
	}
	return open(own)
}
