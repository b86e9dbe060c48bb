package main

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// turns is how a connection runs.
type turns struct {
	clientSpeaksFirst bool
	// closesFirst is who closes first, while the other waits for the end: roleServer, roleClient, or eitherRole, with
	// which neither waits.
	closesFirst string
}

func turnsOf(cell *cell) turns {
	return turns{cell.clientSpeaksFirst(), cell.closesFirst()}
}

// connectClient connects, speaks and closes.
type connectClient struct {
	client  client
	turns   turns
	request []byte
	reply   []byte
	touch   *toucher
	end     [1]byte
}

func newConnectClient(client client, cell *cell) *connectClient {
	return &connectClient{
		client:  client,
		turns:   turnsOf(cell),
		request: cell.outgoing(cell.Size),
		reply:   cell.incoming(cell.Reply),
		touch:   newToucher(cell),
	}
}

func (c *connectClient) work(order order) (report, error) {
	retries := c.client.retries()
	report, err := repeat(c, order)
	report.retries = c.client.retries() - retries
	return report, err
}

func (c *connectClient) operate() error {
	return c.visit(c.touch)
}

func (c *connectClient) visit(touch *toucher) error {
	channel, err := c.client.connect()
	if err != nil {
		return err
	}
	if err := c.converse(channel, touch); err != nil {
		return err
	}
	return channel.Close()
}

func (c *connectClient) converse(channel channel, touch *toucher) error {
	if c.turns.clientSpeaksFirst {
		touch.write(c.request)
		if _, err := channel.Write(c.request); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(channel, c.reply); err != nil {
		return err
	}
	touch.read(c.reply)
	if c.turns.closesFirst == roleServer {
		return receiveEnd(channel, c.end[:])
	}
	return nil
}

// operateChecked checks message 0, whatever the operation: each connection numbers its own messages.
func (c *connectClient) operateChecked(uint64) error {
	fill(c.request, 0, false)
	if err := c.visit(nil); err != nil {
		return err
	}
	return check(c.reply, 0, 0, false)
}

// connectServer accepts, answers and closes. Workers share the listener and take turns as connections come.
type connectServer struct {
	server server
	// unclaimed counts the connections of this batch that no worker has claimed yet.
	unclaimed *atomic.Int64
	turns     turns
	request   []byte
	reply     []byte
	touch     *toucher
	end       [1]byte
}

func newConnectServer(server server, cell *cell, unclaimed *atomic.Int64) *connectServer {
	return &connectServer{
		server:    server,
		unclaimed: unclaimed,
		turns:     turnsOf(cell),
		request:   cell.incoming(cell.Size),
		reply:     cell.outgoing(cell.Reply),
		touch:     newToucher(cell),
	}
}

func (s *connectServer) work(order order) (report, error) {
	checked := order.kind == verified
	if checked {
		fill(s.reply, 0, false)
	}
	began := time.Now()
	for done := uint64(0); s.unclaimed.Add(-1) >= 0; done++ {
		if err := s.receiveVisitor(checked); err != nil {
			return report{}, inOperation(done, order.ops, err)
		}
	}
	return report{began: began, ended: time.Now()}, nil
}

func (s *connectServer) receiveVisitor(checked bool) error {
	channel, err := s.server.accept()
	if err != nil {
		return err
	}
	if err := s.converse(channel, checked); err != nil {
		return err
	}
	return channel.Close()
}

func (s *connectServer) converse(channel channel, checked bool) error {
	if s.turns.clientSpeaksFirst {
		if _, err := io.ReadFull(channel, s.request); err != nil {
			return err
		}
		if checked {
			if err := check(s.request, 0, 0, false); err != nil {
				return err
			}
		} else {
			s.touch.read(s.request)
		}
	}
	if !checked {
		s.touch.write(s.reply)
	}
	if _, err := channel.Write(s.reply); err != nil {
		return err
	}
	if s.turns.closesFirst == roleClient {
		return receiveEnd(channel, s.end[:])
	}
	return nil
}

// receiveEnd waits for the other side to close; buffer has room for one byte.
func receiveEnd(channel channel, buffer []byte) error {
	_, err := channel.Read(buffer)
	switch {
	case err == nil:
		return errors.New("more bytes came than were agreed on")
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}
