import os

from countersign.asgi import AsgiGateway, agent_of
from countersign.gateway import Gate
from fastapi import FastAPI, Request

SERVICE = os.environ.get("SERVICE", "http://localhost:8080")
ORIGIN = os.environ.get("ORIGIN", "http://localhost:3000")

# Only agents of verified owners that sign their requests for this origin.
policy = {"requireProof": True, "levels": {"unverified": "deny"}}

app = FastAPI()
app.add_middleware(AsgiGateway, gate=Gate(SERVICE, policy, audiences=[ORIGIN]))


@app.get("/orders")
def orders(request: Request):
    return {"orders": [], "agent": agent_of(request.scope).did}


@app.post("/orders", status_code=201)
async def order(request: Request):
    item = (await request.json())["item"]
    return {"item": item, "orderedBy": agent_of(request.scope).did}
