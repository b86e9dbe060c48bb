package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"strings"
	"syscall"

	"github.com/Microsoft/go-winio"
)

// pipes is the prefix of local named pipes.
const pipes = `\\.\pipe\`

// defaultPipeBytes is the system's buffer for each direction unless the cell sets it, as in the native peer.
const defaultPipeBytes = 65_536

// npipe is a Windows named pipe in byte mode; package winio waits for it as package net waits for sockets.
type npipe struct{}

func (npipe) name() string       { return "npipe" }
func (npipe) connects() bool     { return true }
func (npipe) unavailable() error { return nil }

type pipeName struct {
	Pipe string `json:"pipe"`
}

func (npipe) serve(address json.RawMessage, cell *cell) (server, error) {
	at, err := localPipe(address)
	if err != nil {
		return nil, err
	}
	self, err := user.Current()
	if err != nil {
		return nil, err
	}
	bytes := orElse(cell.Options.PipeSize, defaultPipeBytes)
	listener, err := winio.ListenPipe(at.Pipe, &winio.PipeConfig{
		// Only this user may open it.
		SecurityDescriptor: fmt.Sprintf("D:P(A;;GA;;;%s)", self.Uid),
		InputBufferSize:    int32(bytes),
		OutputBufferSize:   int32(bytes),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", at.Pipe, err)
	}
	if isWine() {
		if err := occupyFirst(at.Pipe); err != nil {
			return nil, err
		}
	}
	server := &listening{listener: listener, where: at}
	if cell.Options.PipeSize != nil {
		server.became = effective{"pipe_size": bytes}
	}
	return server, nil
}

func (npipe) reach(address json.RawMessage, _ *cell, _ int) (client, error) {
	to, err := localPipe(address)
	return npipeClient{to.Pipe}, err
}

// occupyFirst connects to the first instance of a pipe and stays. Package winio keeps that instance only for the name,
// and Windows lets no client connect to it; Wine does, and such a client would never get an answer.
func occupyFirst(path string) error {
	_, err := winio.DialPipe(path, nil)
	return err
}

// isWine reports whether Wine replaces Windows.
func isWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// localPipe refuses any address outside this machine.
func localPipe(address json.RawMessage) (pipeName, error) {
	at, err := readAddress[pipeName](address)
	if err == nil && !strings.HasPrefix(strings.ToLower(at.Pipe), pipes) {
		err = fmt.Errorf("%q is no pipe of this machine: those begin with %s", at.Pipe, pipes)
	}
	return at, err
}

// npipeClient is a client of a named pipe.
type npipeClient struct {
	path string
}

// connect waits if no instance of the pipe is free.
func (c npipeClient) connect() (channel, error) {
	return winio.DialPipeContext(context.Background(), c.path)
}

func (npipeClient) retries() uint64      { return 0 }
func (npipeClient) effective() effective { return nil }
