package main

import (
	"net"
	"os"
)

// sources generates source addresses all over 127.0.0.0/8.
//
// Two addresses and two ports identify a connection. Towards one listener, one source address has about 28 000 ports,
// and if this side closes first, each stays in use for a minute.
type sources struct {
	number   uint32
	usesLeft int
	address  net.TCPAddr
}

const (
	// usesOfSource is how many connections come from one address before the next one's turn: far fewer than it has ports.
	usesOfSource = 256
	// mostSourcesTried is how many in a row may run out of ports before that is an error.
	mostSourcesTried = 16
	// firstSource is 127.1.0.0; 127.0.0.0/16 is excluded, since other services listen there.
	firstSource     = 0x7f01_0000
	numberOfSources = 0x00ff_0000
)

// newSources starts far from other workers and processes, so that they seldom meet.
func newSources(worker int) *sources {
	start := uint32(os.Getpid())*0x9e37_79b9 ^ uint32(worker)*0x85eb_ca6b
	return &sources{number: start % numberOfSources}
}

func (s *sources) next() net.Addr {
	if s.usesLeft == 0 {
		s.advance()
	}
	s.usesLeft--
	return &s.address
}

// advance moves on to the next address.
func (s *sources) advance() {
	s.usesLeft = usesOfSource
	s.number = (s.number + 1) % numberOfSources
	address := firstSource + s.number
	s.address.IP = net.IPv4(byte(address>>24), byte(address>>16), byte(address>>8), byte(address))
}
