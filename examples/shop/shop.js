import { createServer } from 'node:http'
import { agentOf, gateway } from '@countersign/gateway/fetch'
import { nodeListener } from '@countersign/sdk/node'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

// Only agents of verified owners that sign their requests for this origin.
const admit = gateway({
  service: SERVICE,
  audiences: [ORIGIN],
  policy: { requireProof: true, levels: { unverified: 'deny' } },
})

async function order(request) {
  if (request.method !== 'POST') return new Response('Send an order by POST.', { status: 405 })
  const { item } = await request.json()
  return Response.json({ item, orderedBy: agentOf(request).did }, { status: 201 })
}

createServer(nodeListener(ORIGIN, admit(order))).listen(new URL(ORIGIN).port, 'localhost', () =>
  console.log(`The shop is open at ${ORIGIN}`),
)
