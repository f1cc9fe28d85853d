import os

import httpx
from countersign import Agent, AgentKey
from countersign.httpx import SigningTransport

SERVICE = os.environ.get("SERVICE", "http://localhost:8080")
SHOP = os.environ.get("SHOP", "http://localhost:3000")

agent = Agent(SERVICE, AgentKey.from_file("agent.pem", create=True), audiences=[SHOP])
token = os.environ.get("CLAIM_TOKEN")
if token:
    agent.claim(token)  # the same at each start

# Signs every request to the shop, and none to other sites.
with httpx.Client(transport=SigningTransport(agent)) as client:
    response = client.post(f"{SHOP}/orders", json={"item": "lamp"})
    print(response.status_code, response.text)
