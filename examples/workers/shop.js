import { createServer } from 'node:http'
import { memoryNonceStore, Registry, verifyRequest } from '@countersign/sdk'
import { nodeListener } from '@countersign/sdk/node'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

const options = {
  registry: await Registry.discover(SERVICE),
  audiences: [ORIGIN],
  nonces: memoryNonceStore(),
  // Every delegate is refused unless a site accepts it: here those of an agent itself, for at most an hour.
  delegation: { maxDepth: 1, maxSeconds: 3600, mcp: false },
}

async function answer(request) {
  const { pathname } = new URL(request.url)
  const { verdict, reason, did, delegation } = await verifyRequest(request, options)
  if (verdict !== 'verified') {
    console.log(`${pathname} refused: ${reason}`)
    return Response.json({ reason }, { status: 401 })
  }
  return Response.json({ path: pathname, agent: did, worker: delegation?.keyid ?? null })
}

createServer(nodeListener(ORIGIN, answer)).listen(new URL(ORIGIN).port, 'localhost', () =>
  console.log(`The shop is open at ${ORIGIN}`),
)
