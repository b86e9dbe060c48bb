package main

import (
	"io"
	"time"
)

// streamClient sends messages and waits for one byte when all have arrived.
type streamClient struct {
	channel channel
	message []byte
	touch   *toucher
	answer  [1]byte
}

func newStreamClient(channel channel, cell *cell) *streamClient {
	return &streamClient{channel: channel, message: cell.outgoing(cell.Size), touch: newToucher(cell)}
}

func (c *streamClient) work(order order) (report, error) {
	if order.kind == metered {
		// The sender does not see when a message arrives, so it has no latency.
		order.kind = timed
	}
	began := time.Now()
	if _, err := repeat(c, order); err != nil {
		return report{}, err
	}
	sentAt := time.Now()
	if _, err := io.ReadFull(c.channel, c.answer[:]); err != nil {
		return report{}, inOperation(order.ops-1, order.ops, err)
	}
	return report{began: began, ended: time.Now(), sentAt: sentAt}, nil
}

func (c *streamClient) operate() error {
	c.touch.write(c.message)
	return c.send()
}

func (c *streamClient) send() error {
	_, err := c.channel.Write(c.message)
	return err
}

func (c *streamClient) operateChecked(message uint64) error {
	fill(c.message, message, false)
	return c.send()
}

// allArrived is the server's answer at the end of a batch.
var allArrived = []byte{'b'}

// streamServer receives, and answers one byte at the end.
type streamServer struct {
	channel channel
	size    uint64
	buffer  []byte
	touch   *toucher
}

func newStreamServer(channel channel, cell *cell) *streamServer {
	return &streamServer{
		channel: channel,
		size:    cell.Size,
		buffer:  cell.incoming(cell.recvBufferBytes()),
		touch:   newToucher(cell),
	}
}

func (s *streamServer) work(order order) (report, error) {
	began := time.Now()
	if err := s.receive(order.ops, order.kind == verified); err != nil {
		return report{}, err
	}
	if _, err := s.channel.Write(allArrived); err != nil {
		return report{}, inOperation(order.ops-1, order.ops, err)
	}
	return report{began: began, ended: time.Now()}, nil
}

func (s *streamServer) receive(ops uint64, checked bool) error {
	total := ops * s.size
	for received := uint64(0); received < total; {
		most := min(total-received, uint64(len(s.buffer)))
		count, err := s.channel.Read(s.buffer[:most])
		if err == nil && checked {
			err = s.checkStream(s.buffer[:count], received)
		}
		if err != nil {
			return inOperation(received/s.size, ops, err)
		}
		if !checked {
			s.touch.read(s.buffer[:count])
		}
		received += uint64(count)
	}
	return nil
}

// checkStream checks bytes that begin and end anywhere in a sequence of messages.
func (s *streamServer) checkStream(bytes []byte, offset uint64) error {
	for len(bytes) > 0 {
		message, index := offset/s.size, offset%s.size
		now := bytes[:min(uint64(len(bytes)), s.size-index)]
		if err := check(now, message, index, false); err != nil {
			return err
		}
		offset += uint64(len(now))
		bytes = bytes[len(now):]
	}
	return nil
}
