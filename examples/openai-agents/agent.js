import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { Agent as Assistant, run, setOpenAIAPI, tool } from '@openai/agents'
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

setOpenAIAPI('chat_completions')
const assistant = new Assistant({
  name: 'Buyer',
  model: process.env.MODEL ?? 'gpt-5-mini',
  instructions: 'You order items at the shop.',
  tools: [
    tool({
      name: 'order',
      description: 'Orders an item at the shop',
      parameters: z.object({ item: z.string() }),
      execute: order,
    }),
  ],
})
const { finalOutput } = await run(assistant, 'Order a lamp, and say what the shop answered.')
console.log(finalOutput)
