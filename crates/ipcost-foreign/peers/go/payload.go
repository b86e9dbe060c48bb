package main

import "fmt"

// payloadPeriod is the number of bytes, and of messages, after which the checked payload repeats.
const payloadPeriod = 251

// newlineStandIn replaces a byte that would end a message too early; the pattern otherwise never contains it.
const newlineStandIn = 251

// payloadByte is byte number index of message number message.
func payloadByte(message, index uint64, newlineEnds bool) byte {
	value := byte((message%payloadPeriod + index%payloadPeriod) % payloadPeriod)
	if newlineEnds && value == '\n' {
		return newlineStandIn
	}
	return value
}

// fill writes a message.
func fill(buffer []byte, message uint64, newlineEnds bool) {
	for index := range buffer {
		buffer[index] = payloadByte(message, uint64(index), newlineEnds)
	}
}

// check reports the first wrong byte; the bytes begin at byte number offset of a message.
func check(bytes []byte, message, offset uint64, newlineEnds bool) error {
	for index, found := range bytes {
		at := offset + uint64(index)
		if expected := payloadByte(message, at, newlineEnds); found != expected {
			return fmt.Errorf("payload mismatch: byte %d of message %d is %d, not %d", at, message, found, expected)
		}
	}
	return nil
}
