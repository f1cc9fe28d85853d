import { SendMessageRequest } from '@a2a-js/sdk'
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [ORIGIN],
})
if (process.env.CLAIM_TOKEN) await agent.claim(process.env.CLAIM_TOKEN) // the same at each start

// Signs every request to the server.
const fetchImpl = (url, init) => agent.fetch(url, init)
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] })
const client = await factory.createFromUrl(ORIGIN)
const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'lamp' }] }
const reply = await client.sendMessage(SendMessageRequest.fromJSON({ message }))
console.log(reply.parts[0].content.value)
