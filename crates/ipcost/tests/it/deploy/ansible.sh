# A fleet of six: three that complete, one of them slow, and three that fail while they measure.
begin_fleet
mkdir -p "$HOME" results/documents
ssh-keygen -q -t ed25519 -N '' -f client
# An earlier run left this; it must not pass for a document of this one.
echo '{}' > results/documents/gone.json

printf '#!/bin/sh\nsleep 0.3\nexec /usr/bin/python3 "$@"\n' > slow-python
chmod +x slow-python
mkdir -p /run/sshd
number=10
printf '[fleet]\n' > inventory.ini
for name in one two slow killed lost gone; do
    number=$((number + 1))
    ssh-keygen -q -t ed25519 -N '' -f "key-$name"
    machine "$name" "$number" '
        mount --bind "$PLACE/machines/$MACHINE/home" /root
        exec /usr/sbin/sshd -D -e -f /dev/null -h "$PLACE/key-$MACHINE" -p 2222 -o ListenAddress="$ADDRESS" -o PidFile=none \
            -o UsePAM=no -o StrictModes=no -o PermitRootLogin=yes -o AuthorizedKeysFile="$PLACE/client.pub" \
            -o Subsystem="sftp internal-sftp"'
    echo "[10.213.0.$number]:2222 $(cut -d' ' -f1,2 "key-$name.pub")" >> known_hosts
    python=/usr/bin/python3
    [ "$name" != slow ] || python=$PLACE/slow-python
    # Those that are to fail measure until they do.
    case "$name" in killed | lost | gone) epochs=100000 ;; *) epochs=2 ;; esac
    echo "$name ansible_host=10.213.0.$number ansible_port=2222 ansible_python_interpreter=$python ipcost_arguments='[\"--epochs\", \"$epochs\"]'" \
        >> inventory.ini
done
for at in $(seq 11 "$number"); do
    until ssh-keyscan -t ed25519 -p 2222 "10.213.0.$at" 2>/dev/null | grep -q ed25519; do sleep 0.05; done
done

play() {
    ANSIBLE_CONFIG=$ENGINES/ansible/ansible.cfg ANSIBLE_HOST_KEY_CHECKING=true ANSIBLE_NOCOLOR=1 ansible-playbook \
        --inventory inventory.ini --user root --private-key client \
        --ssh-common-args "-o UserKnownHostsFile=$PLACE/known_hosts" \
        -e ipcost_binary="$PROGRAM" -e ipcost_job="$PLACE/job.toml" -e ipcost_results="$PLACE/results" \
        -e ipcost_seed=7 -e ipcost_return_seconds=5 "$@" "$ENGINES/ansible/playbook.yml"
}

play > play.log 2>&1 &
play=$!

until_measuring killed "$play"
kill -s KILL $(processes killed '*ipcost run *')
until_measuring lost "$play"
# Its connections end, the run goes on, and new connections are accepted.
kill -s KILL $(pgrep --parent "$(pgrep --parent "$pid_lost")" sshd)
until_measuring gone "$play"
kill -s KILL "$pid_gone"

wait "$play" && echo "status 0" || echo "status $?"
for name in one two slow killed lost gone; do
    echo "left on $name: $(ls -A "machines/$name/var-tmp" | tr '\n' ' ')$(find "machines/$name/home" -type f)$(processes "$name" '*')"
done

# The same for one machine, where the build for debugging is a finding that distorts results.
cp -R results first
play --limit one -e ipcost_stop_on_findings=true -e ipcost_fail_on_missing=false > findings.log 2>&1 && echo "findings: status 0" || echo "findings: status $?"
