"""Runs one job of ipcost and checks its costs against those of an earlier document.

    reframe --checkpath ipcost_check.py --run --setvar program=/shared/ipcost --setvar documents=/shared/documents

Everything is read from the document (--json), whose keys are stable.
"""

import json
import os
import shutil

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class IpcostCheck(rfm.RunOnlyRegressionTest):
    descr = 'costs of local inter-process communication'
    valid_systems = ['*']
    valid_prog_environs = ['*']

    #: The program; a static binary runs on any node.
    program = variable(str, value='ipcost')
    #: The job file.
    job_file = variable(str, value=os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'job.toml'))
    #: The seed of every node, so that all have the same random orders.
    seed = variable(int, value=1)
    #: Where the documents are collected, by the name of the host; nowhere if empty.
    documents = variable(str, value='')
    #: The document of a run to compare with; no cost fails the check if empty.
    reference_document = variable(str, value='')
    #: By which share a cost may exceed its reference.
    tolerance = variable(float, value=0.25)

    # Other tasks on the node would be measured, too.
    exclusive_access = True
    time_limit = '30m'

    @run_before('run')
    def set_command(self):
        self.executable = self.program
        self.executable_opts = [
            'run', os.path.abspath(self.job_file), '--seed', str(self.seed), '--quiet', '--no-save',
            '--json', 'document.json',
        ]
        self.env_vars['IPCOST_DATA_DIR'] = os.path.join(self.stagedir, 'data')
        self.env_vars['XDG_CACHE_HOME'] = os.path.join(self.stagedir, 'cache')
        self.keep_files = ['document.json']

    def read_document(self):
        with open(os.path.join(self.stagedir, 'document.json')) as file:
            return json.load(file)

    @sanity_function
    def is_complete(self):
        path = os.path.join(self.stagedir, 'document.json')
        if not os.path.exists(path):
            return sn.assert_true(False, msg='no document; what ipcost said is in the standard error of the job')
        document = self.read_document()
        return sn.all([
            sn.assert_eq(document['schema'], 'ipcost/1'),
            sn.assert_in(document['stopped'], ['resolved', 'budget'], msg='the run was {0}'),
            sn.assert_true(
                any(cell['available'] for cell in document['cells']), msg='no cell could be measured here'
            ),
        ])

    # After the sanity check: the document is complete, whatever its costs are.
    @run_before('performance')
    def collect(self):
        document = self.read_document()
        if self.documents:
            os.makedirs(self.documents, exist_ok=True)
            name = document['host']['name'] + '.json'
            part = os.path.join(self.documents, '.' + name + '.part')
            shutil.copyfile(os.path.join(self.stagedir, 'document.json'), part)
            os.replace(part, os.path.join(self.documents, name))

        costs = wall_ns(document)
        self.perf_variables = {
            cell: sn.make_performance_function(sn.defer(cost), 'ns') for cell, cost in costs.items()
        }
        if self.reference_document:
            with open(self.reference_document) as file:
                references = wall_ns(json.load(file))
            self.reference = {
                '*': {
                    cell: (references[cell], None, self.tolerance, 'ns') for cell in costs if cell in references
                }
            }


def wall_ns(document):
    """Nanoseconds for one operation, by the id of the cell."""
    return {
        cell['id']: cell['wall_ns_per_op']['median'] for cell in document['cells'] if cell['available']
    }
