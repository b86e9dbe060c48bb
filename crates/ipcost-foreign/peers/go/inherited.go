package main

import (
	"encoding/json"
	"os"
)

// pipe is a pair of anonymous pipes created by the engine, one for each direction.
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
	read, err := takeOverPipe(ends.ReadFd)
	if err != nil {
		return nil, err
	}
	write, err := takeOverPipe(ends.WriteFd)
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
