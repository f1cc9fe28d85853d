// Runs under every runtime, on the published form: plain JavaScript, no test framework. Prints what it found.
import { agentOf, gateway as forFetch } from '@countersign/gateway/fetch'
import { gateway as forHono } from '@countersign/gateway/hono'
import { Hono } from 'hono'

const [service, did, revoked] = process.argv.slice(2)

/** A server of the runtime's own. @returns its address, and how to end it */
async function listen(fetch) {
  if (globalThis.Deno) {
    const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, fetch)
    return [`http://127.0.0.1:${server.addr.port}`, () => server.shutdown()]
  }
  if (globalThis.Bun) {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
    return [`http://127.0.0.1:${server.port}`, () => server.stop(true)]
  }
  const { serve } = await import('@hono/node-server')
  const server = await new Promise((resolve) => {
    const made = serve({ fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made))
  })
  return [`http://127.0.0.1:${server.address().port}`, () => server.close()]
}

const told = (headers) => [...headers].filter(([name]) => name.startsWith('x-serviceid')).sort()
const app = new Hono()
app.use(forHono({ service }))
app.post('/', async (c) =>
  c.json([c.get('agent').did, told(c.req.raw.headers), await c.req.text()]),
)
const sites = {
  fetch: forFetch({ service })(async (request) =>
    Response.json([agentOf(request).did, told(request.headers), await request.text()]),
  ),
  hono: app.fetch,
}

const found = {}
for (const [name, fetchOf] of Object.entries(sites)) {
  const [url, end] = await listen((request) => fetchOf(request))
  const ask = (headers) => fetch(url, { method: 'POST', body: 'a body', headers })
  const forged = { 'X-ServiceID-DID': 'forged', x_serviceid_status: 'forged' }
  const admitted = await ask({ ...forged, ServiceID: did })
  found[name] = {
    admitted: [admitted.status, await admitted.json(), admitted.headers.get('vary')],
    refused: (await ask({ ServiceID: revoked })).status,
    nobody: (await ask({})).status,
  }
  await end()
}
console.log(JSON.stringify(found))
