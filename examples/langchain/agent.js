import { Agent, Registry } from '@countersign/sdk'
import { toTools } from '@countersign/sdk/langchain'
import { keyFromFile } from '@countersign/sdk/node'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'

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

const assistant = createAgent({
  model: new ChatOpenAI({
    model: process.env.MODEL ?? 'gpt-5-mini',
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  }),
  tools: toTools(agent, { only: ['fetch'] }),
})
const { messages } = await assistant.invoke({
  messages: [
    {
      role: 'user',
      content: `Order a lamp: POST {"item":"lamp"} as JSON to ${SHOP}/orders. Say what the shop answered.`,
    },
  ],
})
console.log(messages.at(-1).content)
