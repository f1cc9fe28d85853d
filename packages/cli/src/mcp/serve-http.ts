import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { McpContext } from './context.ts'
import { checkRequest, type GuardRules, MCP_PATH, type Refusal } from './http-guard.ts'
import { buildMcpServer } from './server.ts'

/** More than the arguments of any tool can have. */
const MAX_BODY_BYTES = 64 * 1024

/** Longer than any call waits for the service. A call that waits for an owner is lost; the same question gets the same approval. */
const DRAIN_MS = 12_000

export interface HttpOptions extends GuardRules {
  /** An address of this machine. */
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  /** Called with the endpoint once the server listens. */
  readonly onListening: (url: string) => void
}

/**
 * Serves clients that have the token over streamable HTTP. There are no sessions, so that none can be stolen or fill the
 * memory; a restart loses only the challenges that are not answered yet.
 * @returns once the process is signalled and pending requests are answered
 * @throws Error of the system if it cannot listen
 */
export async function serveHttp(context: McpContext, options: HttpOptions): Promise<void> {
  const server = createServer((request, response) => {
    const refusal = checkRequest(request, options)
    if (refusal !== null) return sendRefusal(response, refusal)
    answer(request, response, context).catch((error: Error) => {
      context.cli.log(error.message)
      response.destroy()
    })
  })
  const signalled = context.cli.io.untilSignalled()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.address, resolve)
  })
  const { address, family, port } = server.address() as AddressInfo
  options.onListening(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}${MCP_PATH}`)
  await signalled
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
  // The type of the transport allows undefined accessors, that of the interface does not.
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response)
}

/** In the form of the transport's own errors: JSON-RPC without an id. */
function sendRefusal(response: ServerResponse, { status, message, headers }: Refusal): void {
  const body = { jsonrpc: '2.0', error: { code: -32000, message }, id: null }
  // The body of the request is not read, so the connection cannot be reused.
  response
    .writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify(body))
}
