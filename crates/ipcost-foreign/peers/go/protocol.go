package main

import (
	"encoding/json"
	"runtime"
)

const (
	protocolVersion  = 1
	peerName         = "go"
	peerVersion      = "0.1.0"
	maxLatencyValues = 10_000
)

const (
	roleServer = "server"
	roleClient = "client"
)

// fromEngine is any message from the engine; its type determines which fields count.
type fromEngine struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Cell    *cell           `json:"cell"`
	Address json.RawMessage `json:"address"`
	ID      uint64          `json:"id"`
	Ops     uint64          `json:"ops"`
	Latency bool            `json:"latency"`
	Seed    *uint64         `json:"seed"`
}

type helloMessage struct {
	Type       string   `json:"type"`
	Protocol   int      `json:"protocol"`
	Peer       string   `json:"peer"`
	Version    string   `json:"version"`
	Runtime    string   `json:"runtime"`
	Roles      []string `json:"roles"`
	Transports []string `json:"transports"`
	Patterns   []string `json:"patterns"`
	Options    []string `json:"options"`
}

type readyMessage struct {
	Type      string    `json:"type"`
	Address   any       `json:"address"`
	Effective effective `json:"effective,omitempty"`
}

type armedMessage struct {
	Type string `json:"type"`
	ID   uint64 `json:"id"`
}

type doneMessage struct {
	Type      string   `json:"type"`
	ID        uint64   `json:"id"`
	Ops       uint64   `json:"ops"`
	WallNs    int64    `json:"wall_ns"`
	SentNs    *int64   `json:"sent_ns,omitempty"`
	Usage     usage    `json:"usage"`
	LatencyNs []uint64 `json:"latency_ns,omitempty"`
	LateNs    []uint64 `json:"late_ns,omitempty"`
	SendNs    []uint64 `json:"send_ns,omitempty"`
	Measures  measures `json:"measures,omitempty"`
	Retries   uint64   `json:"retries,omitempty"`
}

type errorMessage struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// effective holds effective option values, by name.
type effective map[string]uint64

// measures are other measurements of a batch, by name.
type measures map[string]uint64

// addOperations tells how many operations were timed, and for how long they took together.
func (m measures) addOperations(timesNs []uint64) {
	m["operations"] = uint64(len(timesNs))
	for _, ns := range timesNs {
		m["operations_ns"] += ns
	}
}

// usage is this process's resource usage.
type usage struct {
	UserNs              uint64 `json:"user_ns"`
	SysNs               uint64 `json:"sys_ns"`
	VoluntarySwitches   uint64 `json:"voluntary_switches"`
	InvoluntarySwitches uint64 `json:"involuntary_switches"`
}

func (u usage) since(before usage) usage {
	return usage{
		UserNs:              u.UserNs - before.UserNs,
		SysNs:               u.SysNs - before.SysNs,
		VoluntarySwitches:   u.VoluntarySwitches - before.VoluntarySwitches,
		InvoluntarySwitches: u.InvoluntarySwitches - before.InvoluntarySwitches,
	}
}

func hello() helloMessage {
	var usable []string
	for _, transport := range transports {
		if transport.unavailable() == nil {
			usable = append(usable, transport.name())
		}
	}
	return helloMessage{
		Type:       "hello",
		Protocol:   protocolVersion,
		Peer:       peerName,
		Version:    peerVersion,
		Runtime:    runtime.Version(),
		Roles:      []string{roleServer, roleClient},
		Transports: usable,
		Patterns:   []string{patternConnect, patternRr, patternStream},
		Options:    optionNames(),
	}
}
