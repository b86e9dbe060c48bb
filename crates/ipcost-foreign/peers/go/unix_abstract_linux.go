package main

import (
	"encoding/json"
)

// unixAbstract is a Unix stream socket with a name outside the file system.
type unixAbstract struct{}

func (unixAbstract) name() string       { return "unix-abstract" }
func (unixAbstract) connects() bool     { return true }
func (unixAbstract) unavailable() error { return nil }

type named struct {
	Name string `json:"name"`
}

// path is the name in package net's notation.
func (n named) path() string {
	if n.Name == "" {
		return ""
	}
	return "@" + n.Name
}

func (unixAbstract) serve(address json.RawMessage, cell *cell) (server, error) {
	at, err := readAddress[named](address)
	if err != nil {
		return nil, err
	}
	return listenUnix(at.path(), at, cell)
}

func (unixAbstract) reach(address json.RawMessage, cell *cell, _ int) (client, error) {
	to, err := readAddress[named](address)
	if err != nil {
		return nil, err
	}
	return dialUnix(to.path(), cell)
}
