# Machines for the tests of engines, all on this one: each has its own network, name, processes, machine id and temporary
# directory. They live in namespaces below one that the test starts, and end with it. $PLACE is the directory of the test.

# The network that the machines share. The caller is its first address, 10.213.0.1.
begin_fleet() {
    mount -t tmpfs tmpfs /run
    ip link set lo up
    ip link add fleet type bridge
    ip address add 10.213.0.1/24 dev fleet
    ip link set fleet up
    mkdir -p "$PLACE/machines"
}

# machine NAME NUMBER SCRIPT: starts the script on a machine of that name at 10.213.0.NUMBER; pid_NAME is the process that all
# of its processes end with.
machine() {
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" master fleet up
    ip -netns "$1" address add "10.213.0.$2/24" dev eth0
    ip -netns "$1" link set eth0 up
    ip -netns "$1" link set lo up
    mkdir -p "$PLACE/machines/$1/var-tmp" "$PLACE/machines/$1/home"
    printf '%032x\n' "$2" > "$PLACE/machines/$1/machine-id"
    MACHINE=$1 ADDRESS=10.213.0.$2 nsenter --net="/run/netns/$1" \
        unshare --uts --mount --ipc --pid --fork --kill-child --mount-proc sh -ec '
            hostname "$MACHINE"
            mount --bind "$PLACE/machines/$MACHINE/machine-id" /etc/machine-id
            mount --bind "$PLACE/machines/$MACHINE/var-tmp" /var/tmp
            '"$3" > "$PLACE/machines/$1/log" 2>&1 < /dev/null &
    eval "pid_$1=$!"
}

# processes NAME PATTERN: the processes of a machine whose program is ipcost and whose command line matches.
processes() {
    for process in $(ip netns pids "$1"); do
        case "$(readlink "/proc/$process/exe")" in */ipcost | */ipcost\ *) ;; *) continue ;; esac
        case "$(tr '\0' ' ' < "/proc/$process/cmdline")" in $2) echo "$process" ;; esac
    done 2>/dev/null
}

# until_measuring NAME PROCESS: waits until a machine measures, as long as the process that is to make it measure lasts.
until_measuring() {
    until [ "$(processes "$1" '* peer ')" ]; do
        kill -s 0 "$2" || { echo "$1 never measured"; return; }
        sleep 0.05
    done
}
