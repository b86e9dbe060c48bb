//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

func TestNaglesAlgorithmFollowsThePatternAndTheOption(t *testing.T) {
	for _, test := range []struct {
		pattern, options string
		nodelay          bool
	}{
		{patternRr, `{}`, true},
		{patternRr, `{"tcp_nodelay":false}`, false},
		{patternConnect, `{}`, true},
		{patternStream, `{}`, false},
		{patternStream, `{"tcp_nodelay":true}`, true},
	} {
		t.Run(test.pattern+test.options, func(t *testing.T) {
			for side, end := range connectedPair(t, test.pattern, test.options) {
				if found := nodelay(t, end); found != test.nodelay {
					t.Errorf("end %d: TCP_NODELAY is %v", side, found)
				}
			}
		})
	}
}

// connectedPair is a client's end of a connection over TCP, and the server's.
func connectedPair(t *testing.T, pattern, options string) [2]channel {
	t.Helper()
	text := `{"pattern":%q,"transport":"tcp","size":1,"reply":1,"concurrency":1,"speaks_first":"client","options":%s}`
	var cell cell
	must(t, json.Unmarshal([]byte(fmt.Sprintf(text, pattern, options)), &cell))
	server, err := tcpOverIPv4.serve(json.RawMessage(anyPort), &cell)
	must(t, err)
	address, err := json.Marshal(server.address())
	must(t, err)
	client, err := tcpOverIPv4.reach(address, &cell, 0)
	must(t, err)
	near, err := client.connect()
	must(t, err)
	far, err := server.accept()
	must(t, err)
	return [2]channel{near, far}
}

func nodelay(t *testing.T, of channel) bool {
	t.Helper()
	socket, err := rawConnection(of)
	must(t, err)
	var value int
	must(t, withDescriptor(socket, func(descriptor uintptr) (err error) {
		value, err = syscall.GetsockoptInt(int(descriptor), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
		return err
	}))
	return value != 0
}

func TestCongestionControlIsSetOnBothEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system cannot set it")
	}
	// Every Linux has reno.
	for side, end := range connectedPair(t, patternRr, `{"tcp_congestion":"reno"}`) {
		if found := congestion(t, end); found != "reno" {
			t.Errorf("end %d: %q", side, found)
		}
	}
}

func congestion(t *testing.T, of channel) string {
	t.Helper()
	socket, err := rawConnection(of)
	must(t, err)
	var name [16]byte
	length := uint32(len(name))
	must(t, withDescriptor(socket, func(descriptor uintptr) error {
		const tcpCongestion = 13
		_, _, failed := syscall.Syscall6(syscall.SYS_GETSOCKOPT, descriptor, syscall.IPPROTO_TCP, tcpCongestion,
			uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&length)), 0)
		if failed != 0 {
			return failed
		}
		return nil
	}))
	return string(bytes.TrimRight(name[:], "\x00"))
}
