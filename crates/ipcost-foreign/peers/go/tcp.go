package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
)

// tcp is TCP over one of the two loopback addresses.
type tcp struct {
	transportName string
	// network is package net's name for it.
	network  string
	loopback string
}

var (
	tcpOverIPv4 = tcp{"tcp", "tcp4", "127.0.0.1"}
	tcpOverIPv6 = tcp{"tcp6", "tcp6", "::1"}
)

type hostPort struct {
	Host string `json:"host"`
	Port uint16 `json:"port"`
}

func (t tcp) name() string   { return t.transportName }
func (t tcp) connects() bool { return true }

func (t tcp) unavailable() error {
	listener, err := net.Listen(t.network, net.JoinHostPort(t.loopback, "0"))
	if err != nil {
		return err
	}
	return listener.Close()
}

func (t tcp) serve(address json.RawMessage, cell *cell) (server, error) {
	at, err := loopbackAddress(address)
	if err != nil {
		return nil, err
	}
	server, err := listen(t.network, at, cell)
	if err != nil {
		return nil, err
	}
	bound := server.listener.Addr().(*net.TCPAddr)
	server.where = hostPort{Host: bound.IP.String(), Port: uint16(bound.Port)}
	server.adjust = connectionOptions(cell)
	return server, nil
}

func (t tcp) reach(address json.RawMessage, cell *cell, worker int) (client, error) {
	to, err := loopbackAddress(address)
	if err != nil {
		return nil, err
	}
	client := dialTo(t.network, to, cell)
	client.adjust = connectionOptions(cell)
	if t == tcpOverIPv4 && cell.Pattern == patternConnect {
		err = spreadSources(client, cell, worker)
	}
	return client, err
}

// connectionOptions turns Nagle's algorithm back on if the cell wants it, since package net sets TCP_NODELAY on every
// connection, and sets the congestion control that the cell names.
func connectionOptions(cell *cell) func(net.Conn) error {
	congestion := cell.Options.TCPCongestion
	if cell.setsNodelay() && congestion == nil {
		return nil
	}
	return func(connection net.Conn) error {
		if !cell.setsNodelay() {
			if err := connection.(*net.TCPConn).SetNoDelay(false); err != nil {
				return err
			}
		}
		if congestion == nil {
			return nil
		}
		socket, err := connection.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		if err := setCongestion(socket, *congestion); err != nil {
			return fmt.Errorf("cannot set TCP_CONGESTION to %s: %w", *congestion, err)
		}
		return nil
	}
}

// loopbackAddress refuses any address outside loopback: nothing is ever measured, or offered, beyond it.
func loopbackAddress(address json.RawMessage) (string, error) {
	at, err := readAddress[hostPort](address)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(at.Host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("host %q is not a loopback address", at.Host)
	}
	return net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), nil
}
