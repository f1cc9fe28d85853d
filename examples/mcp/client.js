import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [ORIGIN],
})
if (process.env.CLAIM_TOKEN) await agent.claim(process.env.CLAIM_TOKEN) // the same at each start

const client = new Client({ name: 'buyer', version: '1.0.0' })
// Signs every request to the server.
const signedFetch = (url, init) => agent.fetch(url, init)
await client.connect(
  new StreamableHTTPClientTransport(new URL('/mcp', ORIGIN), { fetch: signedFetch }),
)
const { content } = await client.callTool({ name: 'order', arguments: { item: 'lamp' } })
console.log(content[0].text)
await client.close()
