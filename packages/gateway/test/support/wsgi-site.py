"""A WSGI site that answers with what it has received.

Usage: wsgi-site.py TABLE, where TABLE is a JSON object: path of a handler -> its id. Prints its port.
Like lighttpd, it replaces every character of a header's name that is neither a letter nor a digit (RFC 3875, 4.1.18).
Like many frameworks, it looks for a handler after it has resolved the decoded path.
"""

import json
import posixpath
import re
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

TABLE = json.loads(sys.argv[1])


class Handler(WSGIRequestHandler):
    def get_environ(self):
        environ = super().get_environ()
        for name in [each for each in environ if each.startswith("HTTP_")]:
            del environ[name]
        for name, value in self.headers.items():
            key = "HTTP_" + re.sub("[^A-Za-z0-9]", "_", name).upper()
            environ[key] = environ[key] + "," + value if key in environ else value
        return environ

    def log_message(self, *_):
        pass


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


def site(environ, start_response):
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    resolved = posixpath.normpath("/" + path.lstrip("/"))
    handler = TABLE.get(path, TABLE.get(resolved, ""))
    fields = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
    received = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
    body = json.dumps({"path": path, "fields": fields, "body": received}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("X-Handler", handler)]
    start_response("200 OK", headers)
    return [body]


with make_server("127.0.0.1", 0, site, Server, Handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
