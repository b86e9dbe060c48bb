package main

import (
	"encoding/json"
	"errors"
	"net"
)

// unixPath is a Unix stream socket bound to a path.
type unixPath struct{}

func (unixPath) name() string       { return "unix" }
func (unixPath) connects() bool     { return true }
func (unixPath) unavailable() error { return probeUnix() }

type boundTo struct {
	Path string `json:"path"`
}

func (unixPath) serve(address json.RawMessage, cell *cell) (server, error) {
	at, err := readAddress[boundTo](address)
	if err != nil {
		return nil, err
	}
	return listenUnix(at.Path, at, cell)
}

func (unixPath) reach(address json.RawMessage, cell *cell, _ int) (client, error) {
	to, err := readAddress[boundTo](address)
	if err != nil {
		return nil, err
	}
	return dialUnix(to.Path, cell)
}

var errNoName = errors.New("the address of a Unix socket lacks its path or name")

// listenUnix listens on a Unix socket in either namespace.
func listenUnix(at string, where any, cell *cell) (server, error) {
	if at == "" {
		return nil, errNoName
	}
	server, err := listen("unix", at, cell)
	if err != nil {
		return nil, err
	}
	server.where = where
	if setBuffers := buffersControl(cell); setBuffers != nil {
		// Unlike TCP's, accepted connections do not inherit the listener's buffers.
		server.adjust = func(connection net.Conn) error {
			socket, err := rawConnection(connection)
			if err != nil {
				return err
			}
			return setBuffers("", "", socket)
		}
	}
	return server, nil
}

// dialUnix connects to a Unix socket in either namespace.
func dialUnix(to string, cell *cell) (client, error) {
	if to == "" {
		return nil, errNoName
	}
	return dialTo("unix", to, cell), nil
}
