import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const {
  SERVICE = 'http://localhost:8080',
  SHOP = 'http://localhost:3000',
  CLAIM_TOKEN,
} = process.env

// The identity of the agent. The model never sees the key, and requests to other sites are not signed.
const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [SHOP],
})
if (CLAIM_TOKEN) await agent.claim(CLAIM_TOKEN) // the same at each start

async function order({ item }) {
  const response = await agent.fetch(`${SHOP}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ item }),
  })
  return `${response.status} ${await response.text()}`
}

const assistant = createAgent({
  model: new ChatOpenAI({
    model: process.env.MODEL ?? 'gpt-5-mini',
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  }),
  tools: [
    tool(order, {
      name: 'order',
      description: 'Orders an item at the shop',
      schema: z.object({ item: z.string() }),
    }),
  ],
})
const { messages } = await assistant.invoke({
  messages: [{ role: 'user', content: 'Order a lamp, and say what the shop answered.' }],
})
console.log(messages.at(-1).content)
