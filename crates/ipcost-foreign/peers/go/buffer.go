package main

import (
	"encoding/binary"
	"unsafe"
)

// pageBytes is the page that send_offset and recv_offset refer to, whatever this system's is.
const pageBytes = 4096

// newBuffer returns a buffer that begins offset bytes after the start of a page; wherever the runtime puts it if the
// offset is nil. It stays there: Go's heap does not move.
func newBuffer(bytes uint64, offset *uint64) []byte {
	if offset == nil {
		return make([]byte, bytes)
	}
	room := make([]byte, bytes+pageBytes)
	begin := (*offset - startOf(room)) % pageBytes
	return room[begin:][:bytes:bytes]
}

// startOf is where a buffer begins, in memory.
func startOf(buffer []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buffer))))
}

// toucher writes every byte that is sent and reads every byte that was received, as the option touch asks. A nil one
// does neither. Each worker has its own.
type toucher struct {
	written uint64
	// sum is kept so that the compiler cannot drop the reading.
	sum uint64
}

func newToucher(cell *cell) *toucher {
	if orElse(cell.Options.Touch, touchNone) == touchNone {
		return nil
	}
	return &toucher{}
}

// write fills a message with a value that differs from the last one's and is no newline.
func (t *toucher) write(message []byte) {
	if t != nil {
		t.writeEveryByte(message)
	}
}

// read adds up what was received.
func (t *toucher) read(received []byte) {
	if t != nil {
		t.readEveryByte(received)
	}
}

// writeEveryByte writes words: Go would write a loop over bytes one by one.
func (t *toucher) writeEveryByte(message []byte) {
	t.written++
	value := byte(t.written%16) | 0x60
	word := uint64(value) * 0x0101010101010101
	for len(message) >= 8 {
		binary.NativeEndian.PutUint64(message, word)
		message = message[8:]
	}
	for index := range message {
		message[index] = value
	}
}

func (t *toucher) readEveryByte(received []byte) {
	sum := t.sum
	for len(received) >= 8 {
		sum += binary.NativeEndian.Uint64(received)
		received = received[8:]
	}
	for _, value := range received {
		sum += uint64(value)
	}
	t.sum = sum
}
