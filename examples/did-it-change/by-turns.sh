#!/bin/sh
# Measures one job under two kernels by turns, a run a boot, so that the kernels are compared and not two days.
#
# Start it at every boot (a systemd unit or cron's @reboot), as root:
#
#   by-turns.sh JOB.toml 'ENTRY OF KERNEL A' 'ENTRY OF KERNEL B' RUNS
#
# An entry is a name of the boot loader's menu, as grub-reboot takes it. After RUNS runs a side it boots no more and
# prints the command that compares them. Removing /var/lib/ipcost-by-turns starts over.
set -eu

[ $# -eq 4 ] || { echo "usage: by-turns.sh JOB.toml ENTRY_A ENTRY_B RUNS" >&2; exit 2; }
job=$1 entry_a=$2 entry_b=$3 runs=$4
state=${BY_TURNS_STATE:-/var/lib/ipcost-by-turns}
next_boot=${BY_TURNS_NEXT:-grub-reboot}
reboot=${BY_TURNS_REBOOT:-reboot}
settle=${BY_TURNS_SETTLE:-60}
mkdir -p "$state"

# The entry that this boot was to take; none in the very first one.
entry=$(cat "$state/entry" 2>/dev/null || true)
if [ -n "$entry" ]; then
    # What starts at boot is to be over.
    sleep "$settle"
    side=$(cat "$state/side")
    count=$(ls "$state/$side"-*.json 2>/dev/null | wc -l)
    kernel=${BY_TURNS_KERNEL:-$(uname -r)}
    echo "$side $kernel" >> "$state/kernels"
    if [ "$(grep "^$side " "$state/kernels" | sort -u | wc -l)" -gt 1 ]; then
        echo "by-turns: entry '$entry' booted $kernel, and another kernel before: see $state/kernels" >&2
        exit 1
    fi
    IPCOST_DATA_DIR="$state" ipcost run "$job" --quiet --json "$state/$side-$((count + 1)).json" > "$state/last.txt"
fi

# A first where both have as many runs: A B, then B A, so that neither is always the first.
of_a=$(ls "$state"/a-*.json 2>/dev/null | wc -l)
of_b=$(ls "$state"/b-*.json 2>/dev/null | wc -l)
if [ "$of_a" -ge "$runs" ] && [ "$of_b" -ge "$runs" ]; then
    rm -f "$state/entry"
    if [ "$(cut -d ' ' -f 2 "$state/kernels" | sort -u | wc -l)" -lt 2 ]; then
        echo "by-turns: both entries booted one kernel: see $state/kernels" >&2
        exit 1
    fi
    echo "ipcost compare $state/a-*.json -- $state/b-*.json"
    exit 0
fi
if [ "$of_a" -eq "$of_b" ]; then
    if [ $((of_a % 2)) -eq 0 ]; then side=a; else side=b; fi
elif [ "$of_a" -lt "$of_b" ]; then side=a; else side=b; fi
if [ "$side" = a ]; then entry=$entry_a; else entry=$entry_b; fi
echo "$side" > "$state/side"
echo "$entry" > "$state/entry"
"$next_boot" "$entry"
"$reboot"
