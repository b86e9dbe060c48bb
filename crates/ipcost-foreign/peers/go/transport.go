package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// transport moves bytes between the two processes. Those of this platform are listed in transports.
type transport interface {
	name() string
	// connects reports whether connections can be opened at any time, as pattern connect needs.
	connects() bool
	// unavailable returns why it does not work on this machine, or nil.
	unavailable() error
	// serve sets up the server's end.
	serve(address json.RawMessage, cell *cell) (server, error)
	// reach sets up the end of one of the client's workers, counted from 0; connects nothing yet.
	reach(address json.RawMessage, cell *cell, worker int) (client, error)
}

// server is the server's end of a cell.
type server interface {
	// address is its actual address.
	address() any
	// accept waits for the next channel; several workers may call it at once.
	accept() (channel, error)
	effective() effective
}

// client is one worker's end of a cell.
type client interface {
	connect() (channel, error)
	// retries counts the attempts repeated because the listener's queue was full.
	retries() uint64
	// effective is known once connected.
	effective() effective
}

// channel is a two-way stream of bytes. Write sends all of its bytes; both methods handle interrupted calls.
type channel = io.ReadWriteCloser

func findTransport(cell *cell) (transport, error) {
	for _, transport := range transports {
		if transport.name() != cell.Transport {
			continue
		}
		if cell.Pattern == patternConnect && !transport.connects() {
			return nil, fmt.Errorf("pattern connect needs a transport that connects, and %s does not", cell.Transport)
		}
		return transport, nil
	}
	return nil, fmt.Errorf("there is no transport %q", cell.Transport)
}

// readAddress reads a transport's address from the protocol's object.
func readAddress[T any](address json.RawMessage) (T, error) {
	var own T
	if err := json.Unmarshal(address, &own); err != nil {
		return own, fmt.Errorf("the address %s is not one of this transport: %w", address, err)
	}
	return own, nil
}

// readAddressOf reads a worker's address if each has its own: the object itself, then those under "more".
func readAddressOf[T any](address json.RawMessage, worker int) (T, error) {
	if worker == 0 {
		return readAddress[T](address)
	}
	list, err := readAddress[struct {
		More []json.RawMessage `json:"more"`
	}](address)
	if err != nil || worker > len(list.More) {
		var none T
		return none, fmt.Errorf("the address names no channel for worker %d", worker+1)
	}
	return readAddress[T](list.More[worker-1])
}
