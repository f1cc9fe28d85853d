import { Agent, Registry } from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'
import { toTools } from '@countersign/sdk/openai-agents'
import { Agent as Assistant, run, setOpenAIAPI } from '@openai/agents'

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

setOpenAIAPI('chat_completions')
const assistant = new Assistant({
  name: 'Buyer',
  model: process.env.MODEL ?? 'gpt-5-mini',
  instructions: 'You order items at the shop.',
  tools: toTools(agent, { only: ['fetch'] }),
})
const { finalOutput } = await run(
  assistant,
  `Order a lamp: POST {"item":"lamp"} as JSON to ${SHOP}/orders. Say what the shop answered.`,
)
console.log(finalOutput)
