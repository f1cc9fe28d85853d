import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Registry } from '@countersign/sdk'
import { toTools } from '@countersign/sdk/ai-sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { generateText, stepCountIs } from 'ai'

const {
  SERVICE = 'http://localhost:8080',
  SHOP = 'http://localhost:3000',
  CLAIM_TOKEN,
} = process.env

// The identity of the agent. The model never sees the key, and requests to other sites are refused.
const agent = new Agent({
  registry: await Registry.discover(SERVICE),
  signer: await keyFromFile('agent.pem', { create: true }),
  audiences: [SHOP],
})
if (CLAIM_TOKEN) await agent.claim(CLAIM_TOKEN) // the same at each start

const openai = createOpenAI() // OPENAI_API_KEY, OPENAI_BASE_URL
const { text } = await generateText({
  model: openai.chat(process.env.MODEL ?? 'gpt-5-mini'),
  tools: toTools(agent, { only: ['fetch'] }),
  stopWhen: stepCountIs(3),
  prompt: `Order a lamp: POST {"item":"lamp"} as JSON to ${SHOP}/orders. Say what the shop answered.`,
})
console.log(text)
