import { gateway } from '@countersign/gateway/express'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'
import { z } from 'zod'

const { SERVICE = 'http://localhost:8080', ORIGIN = 'http://localhost:3000' } = process.env

/** A server for one request: the gateway has proven which agent sent it. */
function serverFor(agent) {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool(
    'order',
    { description: 'Orders an item', inputSchema: { item: z.string() } },
    ({ item }) => ({ content: [{ type: 'text', text: `${item}, ordered by ${agent.did}` }] }),
  )
  return server
}

const app = express()
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
app.post('/mcp', async (request, response) => {
  const server = serverFor(request.agent)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on('close', () => server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
})
app.all('/mcp', (_request, response) => response.status(405).send('Use POST.'))
app.listen(new URL(ORIGIN).port, 'localhost', () => console.log(`MCP server at ${ORIGIN}/mcp`))
