package main

import (
	"fmt"
	"io"
)

// rrClient sends a request and waits for the reply.
type rrClient struct {
	channel channel
	// request includes the newline that ends it, if one does.
	request     []byte
	reply       []byte
	newlineEnds bool
	touch       *toucher
}

func newRrClient(channel channel, cell *cell) *rrClient {
	requestBytes := cell.Size
	if cell.newlineEnds() {
		requestBytes++
	}
	client := &rrClient{
		channel:     channel,
		request:     cell.outgoing(requestBytes),
		reply:       cell.incoming(cell.Reply),
		newlineEnds: cell.newlineEnds(),
		touch:       newToucher(cell),
	}
	if client.newlineEnds {
		client.request[cell.Size] = '\n'
	}
	return client
}

func (c *rrClient) work(order order) (report, error) {
	return repeat(c, order)
}

func (c *rrClient) operate() error {
	c.touch.write(withoutNewline(c.request, c.newlineEnds))
	if err := c.exchange(); err != nil {
		return err
	}
	c.touch.read(c.reply)
	return nil
}

func (c *rrClient) exchange() error {
	if _, err := c.channel.Write(c.request); err != nil {
		return err
	}
	_, err := io.ReadFull(c.channel, c.reply)
	return err
}

func (c *rrClient) operateChecked(message uint64) error {
	fill(withoutNewline(c.request, c.newlineEnds), message, c.newlineEnds)
	if err := c.exchange(); err != nil {
		return err
	}
	return check(c.reply, message, 0, false)
}

func withoutNewline(request []byte, newlineEnds bool) []byte {
	if newlineEnds {
		return request[:len(request)-1]
	}
	return request
}

// rrServer waits for a request and sends the reply.
type rrServer struct {
	channel channel
	size    uint64
	// request is the buffer of one read: the whole request, or up to server_buffer bytes of it.
	request     []byte
	reply       []byte
	newlineEnds bool
	touch       *toucher
}

func newRrServer(channel channel, cell *cell) *rrServer {
	requestBytes := cell.Size
	if cell.newlineEnds() {
		requestBytes = cell.serverBufferBytes()
	}
	return &rrServer{
		channel:     channel,
		size:        cell.Size,
		request:     cell.incoming(requestBytes),
		reply:       cell.outgoing(cell.Reply),
		newlineEnds: cell.newlineEnds(),
		touch:       newToucher(cell),
	}
}

func (s *rrServer) work(order order) (report, error) {
	return repeat(s, order)
}

func (s *rrServer) operate() error {
	if err := s.receive(); err != nil {
		return err
	}
	s.touch.write(s.reply)
	_, err := s.channel.Write(s.reply)
	return err
}

func (s *rrServer) receive() error {
	if s.newlineEnds {
		return s.receiveLine()
	}
	if _, err := io.ReadFull(s.channel, s.request); err != nil {
		return err
	}
	s.touch.read(s.request)
	return nil
}

// receiveLine reads until the last byte read is a newline.
func (s *rrServer) receiveLine() error {
	for {
		count, err := s.channel.Read(s.request)
		if err != nil {
			return err
		}
		s.touch.read(s.request[:count])
		if s.request[count-1] == '\n' {
			return nil
		}
	}
}

func (s *rrServer) operateChecked(message uint64) error {
	if err := s.receiveChecked(message); err != nil {
		return err
	}
	fill(s.reply, message, false)
	_, err := s.channel.Write(s.reply)
	return err
}

func (s *rrServer) receiveChecked(message uint64) error {
	if s.newlineEnds {
		return s.receiveLineChecked(message)
	}
	if _, err := io.ReadFull(s.channel, s.request); err != nil {
		return err
	}
	return check(s.request, message, 0, false)
}

// receiveLineChecked is receiveLine with every chunk checked before the next one overwrites it.
func (s *rrServer) receiveLineChecked(message uint64) error {
	var received uint64
	for {
		count, err := s.channel.Read(s.request)
		if err != nil {
			return err
		}
		chunk := s.request[:count]
		ended := chunk[count-1] == '\n'
		chunk = withoutNewline(chunk, ended)
		if err := check(chunk, message, received, true); err != nil {
			return err
		}
		received += uint64(len(chunk))
		if received > s.size || ended && received < s.size {
			return fmt.Errorf("payload mismatch: message %d has %d bytes, not %d", message, received, s.size)
		}
		if ended {
			return nil
		}
	}
}
