module ipcost-peer-go

go 1.21
