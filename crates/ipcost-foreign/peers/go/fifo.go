//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// fifo is a pair of named pipes, one for each direction.
//
// Opening a FIFO waits for the other side, unless one briefly holds it open both ways: the server opens both of its
// ends this way before it is ready, and the client the end it reads from, so that neither side waits in vain.
type fifo struct{}

func (fifo) name() string       { return "fifo" }
func (fifo) connects() bool     { return false }
func (fifo) unavailable() error { return nil }

type fifoPaths struct {
	ToServer string `json:"to_server"`
	ToClient string `json:"to_client"`
}

func (fifo) serve(address json.RawMessage, cell *cell) (server, error) {
	became := effective{}
	server, err := serveOpen(address, cell, func(paths fifoPaths) (channel, error) {
		return openFifosOfServer(paths, cell, became)
	})
	if err != nil {
		return nil, err
	}
	server.became = became
	return server, nil
}

func openFifosOfServer(paths fifoPaths, cell *cell, became effective) (channel, error) {
	read, err := openWithoutWaiting(paths.ToServer, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	write, err := openWithoutWaiting(paths.ToClient, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	return &pipePair{read, write}, errors.Join(sizePipe(read, cell, became), sizePipe(write, cell, became))
}

func (fifo) reach(address json.RawMessage, _ *cell, worker int) (client, error) {
	return reachOpen(address, worker, openFifosOfClient)
}

func openFifosOfClient(paths fifoPaths) (channel, error) {
	read, err := openWithoutWaiting(paths.ToClient, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	// A server may open its end after it is ready; this waits for it.
	write, err := os.OpenFile(paths.ToServer, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &pipePair{read, write}, nil
}

func openWithoutWaiting(path string, flag int) (*os.File, error) {
	status, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if status.Mode()&os.ModeNamedPipe == 0 {
		return nil, fmt.Errorf("%s is not a FIFO", path)
	}
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer holder.Close()
	return os.OpenFile(path, flag, 0)
}

// sizePipe sets the capacity that a cell asks for and notes the effective one; where pipes differ, the least, as it is
// the limit.
func sizePipe(file *os.File, cell *cell, became effective) error {
	if cell.Options.PipeSize == nil {
		return nil
	}
	bytes, err := setPipeSize(file, int(*cell.Options.PipeSize))
	if err != nil {
		return fmt.Errorf("cannot set the capacity of %s to %d bytes: %w", file.Name(), *cell.Options.PipeSize, err)
	}
	if known, ok := became["pipe_size"]; !ok || bytes < known {
		became["pipe_size"] = bytes
	}
	return nil
}
