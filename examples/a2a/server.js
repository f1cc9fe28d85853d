import { AgentCard, Message } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express'
import { gateway } from '@countersign/gateway/express'
import express from 'express'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

const card = AgentCard.fromJSON({
  name: 'Shop',
  description: 'Takes orders from agents of verified owners.',
  version: '1.0.0',
  supportedInterfaces: [
    { url: `${ORIGIN}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'order', name: 'Order', description: 'Orders an item', tags: ['shop'] }],
})

const executor = {
  async execute({ userMessage, contextId, context }, eventBus) {
    const text = `${userMessage.parts[0].content.value}, ordered by ${context.user.userName}`
    const reply = {
      messageId: crypto.randomUUID(),
      contextId,
      role: 'ROLE_AGENT',
      parts: [{ text }],
    }
    eventBus.publish(AgentEvent.message(Message.fromJSON(reply)))
    eventBus.finished()
  },
  async cancelTask() {},
}
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)

const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
// The bytes of the body, so that the gateway can compare them with the signed digest.
app.use(
  express.json({
    verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
  }),
)
app.use(
  gateway({
    service: SERVICE,
    audiences: [ORIGIN],
    policy: { requireProof: true, levels: { unverified: 'deny' } },
  }),
)
const userBuilder = async ({ agent }) => ({ isAuthenticated: true, userName: agent.did })
app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder }))
app.listen(new URL(ORIGIN).port, 'localhost', () => console.log(`A2A server at ${ORIGIN}`))
