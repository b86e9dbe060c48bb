package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// session is the control protocol from the peer's side: one role, one cell, many batches.
type session struct {
	input  *controlInput
	output io.Writer

	role string
	cell *cell
	// crew is nil until the peer is ready for batches.
	crew crew
	// gathered delivers the crew of a server that still waits for channels.
	gathered chan gathering
	// unclaimed counts the connections that a batch of connect still lacks; nil otherwise.
	unclaimed *atomic.Int64
}

// gathering is how a server's wait for its channels ended.
type gathering struct {
	crew crew
	err  error
}

// run talks to the engine until it says stop or its input ends, and returns the exit status.
func (s *session) run() int {
	if err := s.converse(); err != nil {
		// The engine may be gone; then no one reads this.
		_ = s.say(errorMessage{Type: "error", Message: err.Error()})
		return 1
	}
	return 0
}

func (s *session) converse() error {
	if err := s.say(hello()); err != nil {
		return err
	}
	for {
		line, err := s.input.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("protocol: %w", err)
		}
		var message fromEngine
		if err := json.Unmarshal(line, &message); err != nil {
			return fmt.Errorf("protocol: %w", err)
		}
		if message.Type == "stop" {
			return nil
		}
		if err := s.answer(&message); err != nil {
			return err
		}
	}
}

func (s *session) answer(message *fromEngine) error {
	switch message.Type {
	case "prepare":
		return s.prepare(message)
	case "batch", "verify":
		return s.batch(message)
	}
	return fmt.Errorf("protocol: there is no message of type %q", message.Type)
}

func (s *session) prepare(message *fromEngine) error {
	if s.cell != nil {
		return errors.New("protocol: prepared twice")
	}
	if message.Cell == nil || message.Address == nil {
		return errors.New("protocol: prepare lacks its cell or its address")
	}
	if err := message.Cell.check(message.Role); err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	transport, err := findTransport(message.Cell)
	if err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	if message.Cell.stamps() {
		if err := shareClock(); err != nil {
			return err
		}
	}
	s.role, s.cell = message.Role, message.Cell
	switch s.role {
	case roleClient:
		return s.prepareClient(transport, message.Address)
	case roleServer:
		return s.prepareServer(transport, message.Address)
	}
	return fmt.Errorf("protocol: there is no role %q", s.role)
}

func (s *session) prepareClient(transport transport, address json.RawMessage) error {
	// Connecting may wait for a server that never comes.
	s.input.ask()
	crew, effective, err := newClientCrew(transport, address, s.cell)
	if err != nil {
		return err
	}
	s.crew = crew
	return s.say(readyMessage{Type: "ready", Address: struct{}{}, Effective: effective})
}

func (s *session) prepareServer(transport transport, address json.RawMessage) error {
	server, err := transport.serve(address, s.cell)
	if err != nil {
		return err
	}
	if s.cell.Pattern == patternConnect {
		s.unclaimed = new(atomic.Int64)
		s.crew = newListenerCrew(server, s.cell, s.unclaimed)
	} else {
		s.gathered = make(chan gathering, 1)
		go func() {
			crew, err := newChannelCrew(server, s.cell)
			s.gathered <- gathering{crew, err}
		}()
	}
	return s.say(readyMessage{Type: "ready", Address: server.address(), Effective: server.effective()})
}

func (s *session) batch(message *fromEngine) error {
	if s.cell == nil {
		return fmt.Errorf("protocol: %s before prepare", message.Type)
	}
	ops, workers := message.Ops, s.cell.Concurrency
	if ops == 0 || ops%workers != 0 {
		return fmt.Errorf("protocol: %d operations cannot be shared by %d workers", ops, workers)
	}
	if err := checkTotal(ops, s.cell); err != nil {
		return err
	}
	if s.crew == nil {
		if err := s.awaitChannels(); err != nil {
			return err
		}
	}
	if s.unclaimed != nil {
		s.unclaimed.Store(int64(ops))
	}
	orders := s.orders(message)
	if s.role == roleServer {
		if err := s.say(armedMessage{Type: "armed", ID: message.ID}); err != nil {
			return err
		}
	}
	together, err := s.crew.run(orders)
	if err != nil {
		return err
	}
	return s.say(together.done(message.ID, ops))
}

// orders are what each worker does in a batch.
func (s *session) orders(message *fromEngine) []order {
	kind, workers := s.kind(message), s.cell.Concurrency
	orders := make([]order, workers)
	for worker := range orders {
		order := &orders[worker]
		order.ops, order.kind = message.Ops/workers, kind
		if kind == paced && s.role == roleClient {
			order.schedule = paceOf(s.cell).schedule(order.ops, *message.Seed, uint64(worker))
		}
	}
	return orders
}

func (s *session) kind(message *fromEngine) kind {
	isClient := s.role == roleClient
	switch {
	case message.Type == "verify":
		return verified
	case message.Seed != nil && paceOf(s.cell) != nil && (isClient || s.cell.Pattern == patternStream):
		return paced
	case message.Latency && isClient:
		return metered
	}
	return timed
}

// awaitChannels waits for the rest of a server's channels. The engine has seen the client connect, so they are on their
// way, if not here.
func (s *session) awaitChannels() error {
	var all gathering
	select {
	case all = <-s.gathered:
	default:
		s.input.ask()
		all = <-s.gathered
	}
	s.crew = all.crew
	return all.err
}

func (s *session) say(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.output.Write(append(line, '\n'))
	return err
}
