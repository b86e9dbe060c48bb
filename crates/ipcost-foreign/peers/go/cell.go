package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

const (
	patternConnect = "connect"
	patternRr      = "rr"
	patternStream  = "stream"
)

// touchNone is the value of touch with which payload is neither written nor read.
const touchNone = "none"

// arrivalsConstant is the value of arrivals with which nothing is drawn.
const arrivalsConstant = "constant"

// arrivalsInStep is the value with which all workers begin at the same moments.
const arrivalsInStep = "in-step"

// eitherRole is the value of closes_first with which neither side waits for the other's end.
const eitherRole = "any"

// The engine's bounds.
const (
	maxSizeBytes   = 1 << 30
	maxConcurrency = 100_000
	maxBacklog     = 65_535
	maxThinkNs     = 60_000_000_000
	maxRate        = 1_000_000_000
)

// Defaults, unless a cell says otherwise.
const (
	defaultServerBufferBytes = 65_537
	leastRecvBufferBytes     = 65_536
)

// cell is what to do over which transport.
type cell struct {
	Pattern     string  `json:"pattern"`
	Transport   string  `json:"transport"`
	Size        uint64  `json:"size"`
	Reply       uint64  `json:"reply"`
	Concurrency uint64  `json:"concurrency"`
	SpeaksFirst string  `json:"speaks_first"`
	Options     options `json:"options"`
}

// options are those that a cell sets; an unset one is nil. Their names are what hello lists and what a cell may set.
type options struct {
	Framing       *string `json:"framing"`
	ServerBuffer  *uint64 `json:"server_buffer"`
	RecvBuffer    *uint64 `json:"recv_buffer"`
	SendOffset    *uint64 `json:"send_offset"`
	RecvOffset    *uint64 `json:"recv_offset"`
	Touch         *string `json:"touch"`
	Workers       *string `json:"workers"`
	TCPNodelay    *bool   `json:"tcp_nodelay"`
	TCPCongestion *string `json:"tcp_congestion"`
	SoSndbuf      *uint64 `json:"so_sndbuf"`
	SoRcvbuf      *uint64 `json:"so_rcvbuf"`
	PipeSize      *uint64 `json:"pipe_size"`
	Backlog       *uint64 `json:"backlog"`
	ClosesFirst   *string `json:"closes_first"`
	SpreadSources *bool   `json:"spread_sources"`
	Think         *uint64 `json:"think"`
	Rate          *uint64 `json:"rate"`
	Arrivals      *string `json:"arrivals"`
}

// optionNames are the names of all options.
func optionNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(options{})) {
		names = append(names, field.Tag.Get("json"))
	}
	return names
}

// UnmarshalJSON refuses unknown options: none is silently ignored.
func (o *options) UnmarshalJSON(text []byte) error {
	type plain options
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(o)); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return nil
}

// check refuses a cell that this role does not support.
func (c *cell) check(role string) error {
	switch {
	case c.Pattern != patternConnect && c.Pattern != patternRr && c.Pattern != patternStream:
		return fmt.Errorf("there is no pattern %q", c.Pattern)
	case c.Size < 1 || c.Size > maxSizeBytes:
		return fmt.Errorf("a size of %d bytes cannot be", c.Size)
	case c.Pattern != patternStream && (c.Reply < 1 || c.Reply > maxSizeBytes):
		return fmt.Errorf("a reply of %d bytes cannot be", c.Reply)
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return fmt.Errorf("a concurrency of %d cannot be", c.Concurrency)
	case c.SpeaksFirst != roleClient && c.SpeaksFirst != roleServer:
		return fmt.Errorf("speaks_first cannot be %q", c.SpeaksFirst)
	case role == roleClient && c.Options.Workers != nil && *c.Options.Workers == "processes":
		return errors.New("workers=processes is not offered: this peer's workers are goroutines")
	case c.stamps() && c.Size < stampBytes:
		return fmt.Errorf("with think or rate, a message of a stream has at least %d bytes, not %d", stampBytes, c.Size)
	}
	return c.Options.check()
}

func (o *options) check() error {
	return errors.Join(
		checkChoice("framing", o.Framing, "length", "newline"),
		checkChoice("workers", o.Workers, "threads", "processes"),
		checkChoice("touch", o.Touch, touchNone, "every-byte"),
		checkChoice("closes_first", o.ClosesFirst, roleServer, roleClient, eitherRole),
		checkCount("server_buffer", o.ServerBuffer, maxSizeBytes),
		checkCount("recv_buffer", o.RecvBuffer, maxSizeBytes),
		checkCount("so_sndbuf", o.SoSndbuf, maxSizeBytes),
		checkCount("so_rcvbuf", o.SoRcvbuf, maxSizeBytes),
		checkCount("pipe_size", o.PipeSize, maxSizeBytes),
		checkCount("backlog", o.Backlog, maxBacklog),
		checkNumber("send_offset", o.SendOffset, 0, pageBytes-1),
		checkNumber("recv_offset", o.RecvOffset, 0, pageBytes-1),
		checkNumber("think", o.Think, 0, maxThinkNs),
		checkCount("rate", o.Rate, maxRate),
		checkChoice("arrivals", o.Arrivals, "poisson", "exponential", arrivalsConstant, arrivalsInStep),
		o.checkPace(),
	)
}

func checkChoice(name string, value *string, words ...string) error {
	if value != nil && !slices.Contains(words, *value) {
		return fmt.Errorf("option %s takes %s, not %q", name, strings.Join(words, " or "), *value)
	}
	return nil
}

func checkCount(name string, value *uint64, most uint64) error {
	return checkNumber(name, value, 1, most)
}

func checkNumber(name string, value *uint64, least, most uint64) error {
	if value != nil && (*value < least || *value > most) {
		return fmt.Errorf("option %s takes a number from %d to %d, not %d", name, least, most, *value)
	}
	return nil
}

// checkPace refuses options of which one would be ignored.
func (o *options) checkPace() error {
	switch {
	case o.Think != nil && o.Rate != nil:
		return errors.New("options think and rate exclude each other")
	case o.Arrivals != nil && o.Think == nil && o.Rate == nil:
		return errors.New("option arrivals needs think or rate")
	}
	return nil
}

// orElse returns an option's value or its default.
func orElse[T any](value *T, otherwise T) T {
	if value != nil {
		return *value
	}
	return otherwise
}

// outgoing returns a buffer to send payload from.
func (c *cell) outgoing(bytes uint64) []byte {
	return newBuffer(bytes, c.Options.SendOffset)
}

// incoming returns a buffer to receive payload into.
func (c *cell) incoming(bytes uint64) []byte {
	return newBuffer(bytes, c.Options.RecvOffset)
}

func (c *cell) newlineEnds() bool {
	return orElse(c.Options.Framing, "length") == "newline"
}

func (c *cell) serverBufferBytes() uint64 {
	return orElse(c.Options.ServerBuffer, defaultServerBufferBytes)
}

func (c *cell) recvBufferBytes() uint64 {
	return orElse(c.Options.RecvBuffer, max(c.Size, leastRecvBufferBytes))
}

// setsNodelay is whether to set TCP_NODELAY: by default where a side waits for each message, but not in a stream.
func (c *cell) setsNodelay() bool {
	return orElse(c.Options.TCPNodelay, c.Pattern != patternStream)
}

// stamps is whether messages carry when they were sent.
func (c *cell) stamps() bool {
	return c.Pattern == patternStream && paceOf(c) != nil
}

func (c *cell) clientSpeaksFirst() bool {
	return c.SpeaksFirst == roleClient
}

func (c *cell) closesFirst() string {
	return orElse(c.Options.ClosesFirst, roleServer)
}
