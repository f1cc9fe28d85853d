import { agentOf, gateway } from '@countersign/gateway/fetch'
import { durableObjectNonceStore } from '@countersign/gateway/workers'

// Used signatures, one object for each key of an agent: instances of the Worker share no memory.
export { CountersignNonces } from '@countersign/gateway/workers'

let admitted

// Only agents of verified owners that sign their requests for this origin.
function admit({ SERVICE, ORIGIN, NONCES }) {
  admitted ??= gateway({
    service: SERVICE,
    audiences: [ORIGIN],
    nonces: durableObjectNonceStore(NONCES),
    policy: { requireProof: true, levels: { unverified: 'deny' } },
    address: (request) => request.headers.get('cf-connecting-ip'),
  })(orders)
  return admitted
}

async function orders(request) {
  const { did } = agentOf(request)
  if (request.method !== 'POST') return Response.json({ orders: [], agent: did })
  const { item } = await request.json()
  return Response.json({ item, orderedBy: did }, { status: 201 })
}

export default {
  fetch: (request, env) => admit(env)(request),
}
