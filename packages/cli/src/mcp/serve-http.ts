import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { McpContext } from './context.ts'
import { type GuardRules, MCP_PATH, type TurnedAway, turnAway } from './http-guard.ts'
import { buildMcpServer } from './server.ts'
import { untilSignalled } from './until-signalled.ts'

/** Far more than the arguments of any tool have. */
const MAX_BODY_BYTES = 64 * 1024

/** Longer than any call waits for the service: who has not got an answer by then is not waiting for one. */
const DRAIN_MS = 12_000

export interface HttpOptions extends GuardRules {
  /** An address of this machine. */
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  /** Is told the endpoint once it answers. */
  readonly onListening: (url: string) => void
}

/**
 * Serves whoever has the token over streamable HTTP, without sessions: each request stands by itself, so that there is
 * no session to steal or to fill memory with, and a restart loses nothing but challenges that nobody has answered.
 * @returns once the process has been told to end and what was asked is answered
 * @throws Error of the system where it cannot listen
 */
export async function serveHttp(context: McpContext, options: HttpOptions): Promise<void> {
  const server = createServer((request, response) => {
    const turnedAway = turnAway(request, options)
    if (turnedAway !== null) return sendTurnedAway(response, turnedAway)
    answer(request, response, context).catch((error: Error) => {
      context.log(error.message)
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.address, resolve)
  })
  const { address, family, port } = server.address() as AddressInfo
  options.onListening(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}${MCP_PATH}`)
  await untilSignalled()
  setTimeout(() => server.closeAllConnections(), DRAIN_MS).unref()
  await new Promise((resolve) => server.close(resolve))
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  context: McpContext,
): Promise<void> {
  const server = buildMcpServer(context)
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: true,
    maxRequestBodySize: MAX_BODY_BYTES,
  })
  response.once('close', () => void server.close())
  // Its accessors may be undefined, which the interface does not say.
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response)
}

/** As the transport words its own refusals: JSON-RPC without an id. */
function sendTurnedAway(response: ServerResponse, { status, message, headers }: TurnedAway): void {
  const body = { jsonrpc: '2.0', error: { code: -32000, message }, id: null }
  // What was sent with it is not read: the connection ends.
  response
    .writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify(body))
}
