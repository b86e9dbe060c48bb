#!/bin/sh
# Names the nodes that sent no document: missing.sh RESULTS. It writes them to RESULTS/missing.txt, with what Slurm and their
# logs say, and ends with status 1 if there are any.
set -eu
[ $# -eq 1 ] || { sed -n 's/^# //p' "$0" >&2; exit 2; }
results=$1
array=$(cat "$results/array.txt")
task=0
while read -r node; do
    task=$((task + 1))
    [ ! -e "$results/documents/$node.json" ] || continue
    # Slurm forgets a job some minutes after its end (MinJobAge).
    state=$(scontrol --oneliner show job "${array}_$task" 2> /dev/null < /dev/null | sed -n 's/.* JobState=\([^ ]*\) .*/\1/p')
    log=$(tail -n 1 "$results/logs/$node.txt" 2> /dev/null || true)
    echo "$node: ${state:-no longer known to Slurm}${log:+: $log}"
done < "$results/nodes.txt" > "$results/missing.txt"
total=$(wc -l < "$results/nodes.txt") missing=$(wc -l < "$results/missing.txt")
echo "$((total - missing)) of $total nodes sent a complete document"
cat "$results/missing.txt"
[ "$missing" -eq 0 ]
