import { createServer } from 'node:http'
import { memoryNonceStore, Registry, verifyRequest } from '@countersign/sdk'
import { nodeListener } from '@countersign/sdk/node'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

const PRICES = new Map([
  ['pencils', 4.9],
  ['paper', 129],
])
// Above this, in euros, the owner of the agent has to approve the order.
const LIMIT = 100

const options = {
  registry: await Registry.discover(SERVICE),
  audiences: [ORIGIN],
  // In production a store that a restart does not empty, such as Redis.
  nonces: memoryNonceStore(),
}

async function checkout(request) {
  if (request.method !== 'POST') return new Response('Send an order by POST.', { status: 405 })
  const { item, total, currency, to } = await request
    .clone()
    .json()
    .catch(() => ({}))
  const price = PRICES.get(item)
  // A person may have approved what the order says. So refuse it if that is not true.
  if (total !== price?.toFixed(2) || currency !== 'EUR' || to !== 'Example GmbH') {
    return Response.json({ error: { code: 'VALIDATION_ERROR', price } }, { status: 400 })
  }
  const approval = price > LIMIT ? { maxAgeSeconds: 600, by: ['passkey'] } : null
  const verified = await verifyRequest(request, { ...options, approval })
  if (verified.verdict !== 'verified') return refusal(verified.reason)
  // In production, store the approval token with the order: it is your evidence.
  const order = { item, total, orderedBy: verified.did, approval: verified.approval?.id ?? null }
  return Response.json(order, { status: 201 })
}

// An agent that reads `approval-required` asks its owner, and sends the same order again.
function refusal(reason) {
  console.log(`refused: ${reason}`)
  const status = reason === 'approval-unchecked' ? 503 : reason.startsWith('approval') ? 403 : 401
  return Response.json({ error: { code: 'REFUSED', reasons: [reason] } }, { status })
}

createServer(nodeListener(ORIGIN, checkout)).listen(new URL(ORIGIN).port, 'localhost', () =>
  console.log(`The shop is open at ${ORIGIN}`),
)
