import { agentOf, gateway } from '@countersign/gateway/fetch'

let admitted

// Only agents of verified owners that sign their requests for this origin. The Worker runs in many places, so it needs
// a shared store of nonces before it can admit requests that change state: see "Several processes" in the guide.
function admit({ SERVICE, ORIGIN }) {
  admitted ??= gateway({
    service: SERVICE,
    audiences: [ORIGIN],
    policy: { requireProof: true, levels: { unverified: 'deny' } },
    address: (request) => request.headers.get('cf-connecting-ip'),
  })((request) => Response.json({ orders: [], agent: agentOf(request).did }))
  return admitted
}

export default {
  fetch: (request, env) => admit(env)(request),
}
