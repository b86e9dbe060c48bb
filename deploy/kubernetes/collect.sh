#!/bin/sh
# Brings the documents of the pods back, and names those that have none: collect.sh RESULTS. Documents are named by node. Pods
# without one are in RESULTS/missing.txt, and the status is 1 if there are any. The configuration of kubectl says which cluster.
set -eu
[ $# -eq 1 ] || { sed -n 's/^# //p' "$0" >&2; exit 2; }
results=$1
mkdir -p "$results/documents" "$results/doctor"
# Documents of an earlier run would hide that their nodes are missing now.
rm -f "$results"/documents/*.json "$results"/doctor/*.json

# A pod in each line: its name, what its container "measure" ended with, its phase, its node. The container is one of the init
# containers in a daemon set, and one of the others in a job.
ended='[?(@.name=="measure")].state.terminated.exitCode'
fields="{.metadata.name} ended:{.status.initContainerStatuses$ended}{.status.containerStatuses$ended} {.status.phase} {.spec.nodeName}"
kubectl get pods --selector app=ipcost --output "jsonpath={range .items[*]}$fields{'\n'}{end}" > "$results/pods.txt"

# keep POD CONTAINER FILE: what a container printed, as a file that appears whole.
keep() {
    kubectl logs "$1" --container "$2" > "$3.part" < /dev/null || { rm "$3.part"; return 1; }
    mv "$3.part" "$3"
}

while read -r pod ended phase node; do
    node=${node:-no node}
    # It becomes a file's name.
    case $node in
        "no node") ;;
        .* | *[!A-Za-z0-9._-]*) echo "$pod: its node has a name that is none of a file"; continue ;;
    esac
    [ "$node" = "no node" ] || keep "$pod" doctor "$results/doctor/$node.json" 2> /dev/null || true
    if [ "$ended" = ended: ]; then
        echo "$node: $pod is $phase"
    elif [ "$ended" != ended:0 ]; then
        echo "$node: $pod ended with status ${ended#ended:}"
    elif ! keep "$pod" measure "$results/documents/$node.json" 2> /dev/null; then
        echo "$node: $pod has no log"
    fi
done < "$results/pods.txt" > "$results/missing.txt"
total=$(wc -l < "$results/pods.txt") missing=$(wc -l < "$results/missing.txt")
echo "$((total - missing)) of $total pods gave a complete document"
cat "$results/missing.txt"
[ "$missing" -eq 0 ]
