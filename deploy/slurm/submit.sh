#!/bin/sh
# Submits one task a node: submit.sh PROGRAM JOB SEED RESULTS [OPTIONS OF SBATCH]. RESULTS is a directory that all nodes share,
# and so are PROGRAM and JOB. NODES, such as NODES=n[1-8],n12, names the nodes; without it, all of the cluster are measured.
set -eu
[ $# -ge 4 ] || { sed -n 's/^# //p' "$0" | head -n 3 >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1") job=$(realpath "$2") seed=$3
mkdir -p "$4/documents" "$4/doctor" "$4/logs"
results=$(realpath "$4")
shift 4

# Documents of an earlier run would hide that their nodes are missing now.
rm -f "$results"/*/*.json "$results"/logs/*.txt "$results/missing.txt"
if [ "${NODES:-}" ]; then
    scontrol show hostnames "$NODES"
else
    sinfo --noheader --Node --format=%N
fi | sort -u > "$results/nodes.txt"
# Each becomes a file's name.
if grep -q -v '^[A-Za-z0-9_-][A-Za-z0-9._-]*$' "$results/nodes.txt"; then
    echo "a node has a name that is none of a file; see $results/nodes.txt" >&2
    exit 1
fi

# Slurm would give two tasks of an array to the same node, one after the other. So the tasks are held, each is given a node, and
# then they are released.
count=$(wc -l < "$results/nodes.txt")
array=$(sbatch --parsable --hold --array="1-$count" --output="$results/logs/%N.txt" "$@" \
    "$here/ipcost.sbatch" "$program" "$job" "$seed" "$results")
array=${array%%;*}
trap 'scancel "$array"' EXIT
task=0
while read -r node; do
    task=$((task + 1))
    scontrol update "jobid=${array}_$task" "reqnodelist=$node" < /dev/null
done < "$results/nodes.txt"
scontrol release "$array"
trap - EXIT
echo "$array" > "$results/array.txt"
echo "job $array, $count nodes; when squeue --job $array is empty: missing.sh $results"
