"""Signs the requests of the package ``httpx``: ``httpx.Client(auth=HttpxAuth(agent))``."""

from __future__ import annotations

from typing import Generator

import httpx

from .agent import Agent


class HttpxAuth(httpx.Auth):
    """Signs each request to the agent's audiences, each redirect too. Requests to other origins stay unsigned."""

    requires_request_body = True

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        url = str(request.url)
        if self._agent.signs_for(url):
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
            for name, value in self._agent.sign_request(request.method, url, headers, request.content):
                request.headers[name] = value
        yield request
