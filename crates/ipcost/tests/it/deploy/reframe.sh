# ReFrame on a cluster: one check a node. Its scheduler "squeue" is Slurm without accounting.
cat > settings.py <<END
site_configuration = {
    'systems': [{
        'name': 'cluster', 'hostnames': ['.*'],
        'partitions': [{'name': 'all', 'scheduler': 'squeue', 'launcher': 'local', 'environs': ['builtin']}],
    }],
}
END
"$REFRAME" --nocolor --prefix reframe --config-file settings.py --distribute=idle \
    --checkpath "$ENGINES/reframe/ipcost_check.py" --run --setvar program="$PROGRAM" --setvar job_file="$PLACE/job.toml" \
    --setvar documents="$PLACE/documents" --setvar seed=7
