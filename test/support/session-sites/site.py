"""A site around agent_sessions.py of docs/sessions.md. It prints its port."""

import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

server = ThreadingHTTPServer(('127.0.0.1', 0), BaseHTTPRequestHandler)
os.environ['AGENT_AUDIENCE'] = f'http://127.0.0.1:{server.server_port}'
import agent_sessions as sessions

nonces = {}


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/agent-sign-in':
            return self.answer(200, sessions.begin(nonces.__setitem__))
        try:
            session = sessions.session(self.headers.get('Authorization'))
        except sessions.Refused as refused:
            return self.answer(refused.status, refused.body)
        self.answer(401 if session is None else 200, session)

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        try:
            take = lambda nonce: nonces.pop(nonce, None) is not None
            self.answer(200, sessions.complete(body, take))
        except sessions.Refused as refused:
            self.answer(refused.status, refused.body)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Cache-Control', 'no-store')
        if status == 401 and body is None:
            self.send_header('WWW-Authenticate', 'ServiceID sign_in="/agent-sign-in", Bearer')
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


server.RequestHandlerClass = Site
print(server.server_port, flush=True)
server.serve_forever()
