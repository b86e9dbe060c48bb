package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// kind is how to do a batch's operations.
type kind int

const (
	// timed: at full speed.
	timed kind = iota
	// metered: with the clock read around each.
	metered
	// paced: each when its time has come.
	paced
	// verified: with a checked payload.
	verified
)

// order is one worker's part of a batch.
type order struct {
	ops  uint64
	kind kind
	// schedule is that of a client whose operations are paced; nil otherwise.
	schedule *schedule
}

// operation is what a worker repeats.
type operation interface {
	// operate does it once.
	operate() error
	// operateChecked does it once as message number message, with a checked payload.
	operateChecked(message uint64) error
}

// repeat does an order's operations, and reports when; also how long each took, if that is requested.
func repeat(operation operation, order order) (report, error) {
	if order.kind == paced {
		return newKeeping(operation, order.schedule).run()
	}
	began := time.Now()
	latencyNs, err := repeatAtOnce(operation, order)
	return report{began: began, ended: time.Now(), latencyNs: latencyNs}, err
}

// repeatAtOnce does operations that follow one another at once.
func repeatAtOnce(operation operation, order order) (latencyNs []uint64, err error) {
	switch order.kind {
	case metered:
		return repeatMetered(operation, order.ops)
	case verified:
		for message := uint64(0); message < order.ops; message++ {
			if err := operation.operateChecked(message); err != nil {
				return nil, inOperation(message, order.ops, err)
			}
		}
	default:
		for done := uint64(0); done < order.ops; done++ {
			if err := operation.operate(); err != nil {
				return nil, inOperation(done, order.ops, err)
			}
		}
	}
	return nil, nil
}

// inOperation adds where something failed, and what the end of a stream means here.
func inOperation(done, ops uint64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the other side closed the connection")
	}
	return fmt.Errorf("in operation %d of %d: %w", done+1, ops, err)
}
