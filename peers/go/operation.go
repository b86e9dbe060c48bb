package main

import (
	"errors"
	"fmt"
	"io"
)

// kind is how the operations of a batch are done.
type kind int

const (
	// timed: as fast as they go.
	timed kind = iota
	// metered: with the clock read around each.
	metered
	// verified: with a payload that is checked.
	verified
)

// order is one worker's part of a batch.
type order struct {
	ops  uint64
	kind kind
}

// operation is what a worker does over and over.
type operation interface {
	// operate does it once.
	operate() error
	// operateChecked does it once as message number message, with a payload that is checked.
	operateChecked(message uint64) error
}

// repeat does the operations of an order; the latencies are empty unless they were asked for.
func repeat(operation operation, order order) (latencyNs []uint64, err error) {
	switch order.kind {
	case metered:
		return repeatMetered(operation, order.ops)
	case verified:
		for message := uint64(0); message < order.ops; message++ {
			if err := operation.operateChecked(message); err != nil {
				return nil, inOperation(message, order.ops, err)
			}
		}
	case timed:
		for done := uint64(0); done < order.ops; done++ {
			if err := operation.operate(); err != nil {
				return nil, inOperation(done, order.ops, err)
			}
		}
	}
	return nil, nil
}

// inOperation says where something failed, and what the end of a stream means here.
func inOperation(done, ops uint64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the other side closed the connection")
	}
	return fmt.Errorf("in operation %d of %d: %w", done+1, ops, err)
}
