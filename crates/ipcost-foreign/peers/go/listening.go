package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
)

// listening is a server that accepts connections.
type listening struct {
	listener net.Listener
	where    any
	became   effective
	// adjust sets what accepted connections do not inherit; nil if nothing.
	adjust func(net.Conn) error
}

// listen binds and listens, after setting the cell's options.
func listen(network, at string, cell *cell) (*listening, error) {
	config := net.ListenConfig{Control: buffersControl(cell)}
	listener, err := config.Listen(context.Background(), network, at)
	if err != nil {
		return nil, err
	}
	server := &listening{listener: listener}
	if cell.Options.Backlog != nil {
		if err := setBacklog(listener, int(*cell.Options.Backlog)); err != nil {
			return nil, fmt.Errorf("cannot set the backlog: %w", err)
		}
	}
	server.became, err = bufferSizes(listener, cell)
	return server, err
}

func (l *listening) address() any         { return l.where }
func (l *listening) effective() effective { return l.became }

func (l *listening) accept() (channel, error) {
	connection, err := l.listener.Accept()
	if err == nil && l.adjust != nil {
		err = l.adjust(connection)
	}
	return connection, err
}

// dialing is a client that opens connections.
type dialing struct {
	dialer      net.Dialer
	network, to string
	cell        *cell
	// sources changes the local address for each connection; nil if the system chooses it.
	sources *sources
	// adjust sets what must be set after connecting; nil if nothing.
	adjust  func(net.Conn) error
	retried uint64
	became  effective
}

func dialTo(network, to string, cell *cell) *dialing {
	return &dialing{
		dialer:  net.Dialer{Control: buffersControl(cell)},
		network: network,
		to:      to,
		cell:    cell,
	}
}

func (d *dialing) retries() uint64      { return d.retried }
func (d *dialing) effective() effective { return d.became }

func (d *dialing) connect() (channel, error) {
	connection, err := d.dialPatiently()
	if err == nil && d.adjust != nil {
		err = d.adjust(connection)
	}
	if err == nil && d.cell.Pattern != patternConnect {
		d.became, err = bufferSizes(connection, d.cell)
	}
	return connection, err
}

// dialPatiently retries if another attempt may succeed: Unix sockets answer EAGAIN while the listener's queue is full;
// and if one source has no port left, the next one has its own.
func (d *dialing) dialPatiently() (net.Conn, error) {
	sourcesLeft := mostSourcesTried
	for {
		if d.sources != nil {
			d.dialer.LocalAddr = d.sources.next()
		}
		connection, err := d.dialer.Dial(d.network, d.to)
		switch {
		case err == nil:
			return connection, nil
		case errors.Is(err, syscall.EAGAIN):
			d.retried++
			runtime.Gosched()
		case !errors.Is(err, syscall.EADDRNOTAVAIL):
			return nil, err
		case d.sources != nil && sourcesLeft > 0:
			sourcesLeft--
			d.sources.advance()
		default:
			return nil, fmt.Errorf("%w: no local port is left: all are in use or in TIME_WAIT; let the server close first "+
				"(closes_first=server), or spread sources (spread_sources=true, over tcp)", err)
		}
	}
}

// control is the hook that Dialer and ListenConfig call between creating a socket and using it.
type control = func(network, address string, socket syscall.RawConn) error

// buffersControl sets the buffers that a cell asks for; before connecting, since TCP fixes then how large a window may
// grow, and since accepted connections inherit the listener's.
func buffersControl(cell *cell) control {
	send, receive := cell.Options.SoSndbuf, cell.Options.SoRcvbuf
	if send == nil && receive == nil {
		return nil
	}
	return func(_, _ string, socket syscall.RawConn) error {
		return errors.Join(
			setBuffer(socket, syscall.SO_SNDBUF, send),
			setBuffer(socket, syscall.SO_RCVBUF, receive),
		)
	}
}

func setBuffer(socket syscall.RawConn, option int, bytes *uint64) error {
	if bytes == nil {
		return nil
	}
	return setSocketOption(socket, syscall.SOL_SOCKET, option, int(*bytes))
}

// bufferSizes returns the effective sizes of the buffers that a cell asks for.
func bufferSizes(of any, cell *cell) (effective, error) {
	became := effective{}
	for _, buffer := range []struct {
		name   string
		option int
		asked  *uint64
	}{
		{"so_sndbuf", syscall.SO_SNDBUF, cell.Options.SoSndbuf},
		{"so_rcvbuf", syscall.SO_RCVBUF, cell.Options.SoRcvbuf},
	} {
		if buffer.asked == nil {
			continue
		}
		socket, err := rawConnection(of)
		if err != nil {
			return nil, err
		}
		bytes, err := bufferSize(socket, buffer.option)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", buffer.name, err)
		}
		became[buffer.name] = bytes
	}
	return became, nil
}

// rawConnection returns the socket of a connection or listener.
func rawConnection(of any) (syscall.RawConn, error) {
	socket, ok := of.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no socket", of)
	}
	return socket.SyscallConn()
}

// withDescriptor calls do with a socket's or file's descriptor.
func withDescriptor(raw syscall.RawConn, do func(descriptor uintptr) error) error {
	var failed error
	if err := raw.Control(func(descriptor uintptr) { failed = do(descriptor) }); err != nil {
		return err
	}
	return failed
}
