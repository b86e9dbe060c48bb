package main

import (
	"encoding/binary"
	"fmt"
)

// stampBytes is how many bytes of a message say when it was sent, where a stream has a pace.
const stampBytes = 8

// arrivals is how long the messages of a stream took that carry when they were sent.
type arrivals struct {
	size uint64
	// stamp is that of the message that is arriving, as far as it is here.
	stamp  [stampBytes]byte
	tookNs []uint64
}

func newArrivals(size, messages uint64) *arrivals {
	return &arrivals{size: size, tookNs: make([]uint64, 0, messages)}
}

// note is an inspection: what is complete with these bytes has arrived now.
func (a *arrivals) note(bytes []byte, offset uint64) error {
	now := monotonicNs()
	for len(bytes) > 0 {
		index := offset % a.size
		part := bytes[:min(uint64(len(bytes)), a.size-index)]
		if index < stampBytes {
			copy(a.stamp[index:], part)
		}
		offset += uint64(len(part))
		bytes = bytes[len(part):]
		if offset%a.size != 0 {
			continue
		}
		sent := binary.NativeEndian.Uint64(a.stamp[:])
		if sent > now {
			return fmt.Errorf("the message arrived %d ns before it was sent: the two processes have different clocks, "+
				"so how long it took is not known", sent-now)
		}
		a.tookNs = append(a.tookNs, now-sent)
	}
	return nil
}
