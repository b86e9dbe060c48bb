package main

import (
	"encoding/binary"
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
	all, err := repeat(c, order)
	if err != nil {
		return report{}, err
	}
	all.sentAt = all.ended
	if _, err := io.ReadFull(c.channel, c.answer[:]); err != nil {
		return report{}, inOperation(order.ops-1, order.ops, err)
	}
	all.ended = time.Now()
	return all, nil
}

func (c *streamClient) operate() error {
	c.touch.write(c.message)
	return c.send()
}

// operateSince sends a message with the time in its first bytes.
func (c *streamClient) operateSince(sinceNs uint64) error {
	c.touch.write(c.message)
	binary.NativeEndian.PutUint64(c.message, sinceNs)
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
	// isOpen is whether messages are sent at a rate.
	isOpen bool
}

func newStreamServer(channel channel, cell *cell) *streamServer {
	pace := paceOf(cell)
	return &streamServer{
		channel: channel,
		isOpen:  pace != nil && pace.isOpen,
		size:    cell.Size,
		buffer:  cell.incoming(cell.recvBufferBytes()),
		touch:   newToucher(cell),
	}
}

func (s *streamServer) work(order order) (report, error) {
	var arrivals *arrivals
	var inspect inspection
	touch := s.touch
	switch order.kind {
	case paced:
		arrivals = newArrivals(s.size, order.ops)
		inspect = arrivals.note
	case verified:
		inspect = s.checkStream
		touch = nil
	}
	began := time.Now()
	if err := s.receive(order.ops, inspect, touch); err != nil {
		return report{}, err
	}
	if _, err := s.channel.Write(allArrived); err != nil {
		return report{}, inOperation(order.ops-1, order.ops, err)
	}
	all := report{began: began, ended: time.Now()}
	if arrivals != nil {
		all.latencyNs = arrivals.tookNs[firstCounted(order.ops, s.isOpen):]
		all.measures = measures{}
		all.measures.addOperations(all.latencyNs)
	}
	return all, nil
}

// inspection looks at bytes that begin and end anywhere in a sequence of messages.
type inspection func(bytes []byte, offset uint64) error

func (s *streamServer) receive(ops uint64, inspect inspection, touch *toucher) error {
	total := ops * s.size
	for received := uint64(0); received < total; {
		most := min(total-received, uint64(len(s.buffer)))
		count, err := s.channel.Read(s.buffer[:most])
		if err == nil && inspect != nil {
			err = inspect(s.buffer[:count], received)
		}
		if err != nil {
			return inOperation(received/s.size, ops, err)
		}
		touch.read(s.buffer[:count])
		received += uint64(count)
	}
	return nil
}

// checkStream is an inspection that checks every byte.
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
