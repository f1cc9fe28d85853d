import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { generateText, stepCountIs, tool } from 'ai'
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

const openai = createOpenAI() // OPENAI_API_KEY, OPENAI_BASE_URL
const { text } = await generateText({
  model: openai.chat(process.env.MODEL ?? 'gpt-5-mini'),
  tools: {
    order: tool({
      description: 'Orders an item at the shop',
      inputSchema: z.object({ item: z.string() }),
      execute: order,
    }),
  },
  stopWhen: stepCountIs(3),
  prompt: 'Order a lamp, and say what the shop answered.',
})
console.log(text)
