package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// takeOverPipe returns a file for an inherited pipe end.
func takeOverPipe(handle int) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("handle %d was to be inherited: %w", handle, err)
	}
	kind, err := syscall.GetFileType(syscall.Handle(handle))
	if err != nil {
		return fail(err)
	}
	if kind != syscall.FILE_TYPE_PIPE {
		return fail(errors.New("it is open, but not what the address says"))
	}
	return os.NewFile(uintptr(handle), fmt.Sprintf("handle %d", handle)), nil
}
