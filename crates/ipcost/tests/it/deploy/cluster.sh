# A cluster of three nodes n1, n2 and n3, and a controller, which is where the script runs.
begin_fleet
mkdir -p "$HOME" spool/controller spool/n1 spool/n2 spool/n3 munge
# Munge accepts neither a key nor a socket in a directory to which others may write.
chmod 711 "$PLACE" munge
dd if=/dev/urandom of=munge/key bs=1024 count=1 2> /dev/null
chmod 600 munge/key
munged --foreground --force --num-threads=2 --key-file="$PLACE/munge/key" --socket="$PLACE/munge/socket" \
    --pid-file="$PLACE/munge/pid" --seed-file="$PLACE/munge/seed" --log-file="$PLACE/munge/log" &
until [ -S munge/socket ]; do sleep 0.05; done

cat > slurm.conf <<END
ClusterName=fleet
SlurmctldHost=controller(10.213.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$PLACE/munge/socket
CredType=cred/munge
StateSaveLocation=$PLACE/spool/controller
SlurmctldPidFile=$PLACE/spool/controller.pid
SlurmctldLogFile=$PLACE/controller.log
SlurmdSpoolDir=$PLACE/spool/%n
SlurmdPidFile=$PLACE/spool/%n.pid
SlurmdLogFile=$PLACE/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/linear
SlurmdTimeout=5
MessageTimeout=5
TCPTimeout=1
SchedulerParameters=batch_sched_delay=1
ReturnToService=2
NodeName=n1 NodeAddr=10.213.0.11 CPUs=$(nproc)
NodeName=n2 NodeAddr=10.213.0.12 CPUs=$(nproc)
NodeName=n3 NodeAddr=10.213.0.13 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES State=UP
END
# Without control groups, whatever their version here.
echo CgroupPlugin=cgroup/v1 > cgroup.conf
export SLURM_CONF="$PLACE/slurm.conf"
hostname controller
slurmctld -D > /dev/null 2>&1 &
for number in 1 2 3; do
    # A node may have a job of its own.
    machine "n$number" "1$number" '
        [ ! -e "$PLACE/$MACHINE.toml" ] || mount --bind "$PLACE/$MACHINE.toml" "$PLACE/job.toml"
        exec slurmd -D'
done
until [ "$(sinfo --noheader --Node --states=idle --format=%N 2> /dev/null | wc -l)" = 3 ]; do sleep 0.1; done

export TMPDIR=/var/tmp
