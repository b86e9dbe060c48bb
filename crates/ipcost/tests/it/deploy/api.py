"""What kubectl asks of a cluster to show pods and their logs: three nodes of a daemon set and one pod of a job, made up.

It listens on a free port of loopback and prints it. Its argument is a document that pods print.
"""

import http.server
import json
import sys
import urllib.parse

DOCUMENT = open(sys.argv[1]).read()


def pod(name, node, phase, init=None, container=None):
    def statuses(ended):
        state = {'running': {}} if ended is None else {'terminated': {'exitCode': ended}}
        return [{'name': 'measure', 'state': state}]

    status = {'phase': phase}
    if phase != 'Pending':
        if container is None:
            status['initContainerStatuses'] = [{'name': 'doctor', 'state': {}}] + statuses(init)
        else:
            status['containerStatuses'] = statuses(container)
    return {
        'apiVersion': 'v1', 'kind': 'Pod', 'status': status,
        'metadata': {'name': name, 'namespace': 'default', 'labels': {'app': 'ipcost'}},
        'spec': {
            'nodeName': node, 'containers': [{'name': 'measure' if container is not None else 'wait'}],
            'initContainers': [{'name': 'doctor'}] + ([] if container is not None else [{'name': 'measure'}]),
        },
    }


PODS = [
    pod('ipcost-a', 'n1', 'Running', init=0),
    pod('ipcost-b', 'n2', 'Pending'),
    pod('ipcost-c', 'n3', 'Failed', init=137),
    pod('ipcost-0-x', 'n4', 'Succeeded', container=0),
    pod('ipcost-d', 'n5', 'Pending', init=None),
]
del PODS[4]['spec']['nodeName']
RESOURCES = [{'name': 'pods', 'namespaced': True, 'kind': 'Pod', 'verbs': ['get', 'list'], 'singularName': ''}]
ANSWERS = {
    '/api': {'kind': 'APIVersions', 'versions': ['v1']},
    '/apis': {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': []},
    '/api/v1': {'kind': 'APIResourceList', 'groupVersion': 'v1', 'resources': RESOURCES},
}


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        parts = url.path.split('/')
        if url.path in ANSWERS:
            self.answer(200, json.dumps(ANSWERS[url.path]))
        elif url.path == '/api/v1/namespaces/default/pods' and query.get('labelSelector') == ['app=ipcost']:
            self.answer(200, json.dumps({'kind': 'PodList', 'apiVersion': 'v1', 'metadata': {}, 'items': PODS}))
        elif url.path.startswith('/api/v1/namespaces/default/pods/') and len(parts) == 7:
            found = [pod for pod in PODS if pod['metadata']['name'] == parts[6]]
            self.answer(200, json.dumps(found[0]))
        elif len(parts) == 8 and parts[7] == 'log' and parts[6] != 'ipcost-d':
            self.answer(200, DOCUMENT if query['container'] == ['measure'] else '{"schema":"ipcost-doctor/1"}', 'text/plain')
        else:
            self.answer(404, json.dumps({'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': 404}))

    def answer(self, code, body, kind='application/json'):
        self.send_response(code)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
