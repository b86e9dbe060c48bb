# One of three nodes goes down while it measures: its job lasts until then.
until_done() {
    while [ "$(squeue --noheader --job "$(cat results/array.txt)")" ]; do sleep 0.2; done
}
missing() {
    "$ENGINES/slurm/missing.sh" results && echo "$1: status 0" || echo "$1: status $?"
}

"$ENGINES/slurm/submit.sh" "$PROGRAM" job.toml 7 results
until_measuring n3 "$$"
missing early
kill -s KILL "$pid_n3"
until_done
missing first
cp -R results first

# The two that are left, with another seed.
NODES='n[1-2]' "$ENGINES/slurm/submit.sh" "$PROGRAM" job.toml 8 results --time=5
until_done
missing second
cp -R results second

# One that is cancelled while it measures.
NODES=n1 "$ENGINES/slurm/submit.sh" "$PROGRAM" n3.toml 9 results
until_measuring n1 "$$"
scancel "$(cat results/array.txt)"
until_done
missing cancelled
cat results/missing.txt
for name in n1 n2; do echo "left on $name: $(ls -A "machines/$name/var-tmp" | tr '\n' ' ')$(processes "$name" '*')"; done
