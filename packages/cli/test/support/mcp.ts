import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult, JSONRPCMessage, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Cleanup } from '../../../../test/support/service.ts'
import { run } from '../../src/run.ts'
import type { Cli } from './cli.ts'

/** A host of the tools: the SDK's own client, which checks every result against its output schema. */
export interface McpHost {
  readonly client: Client
  readonly tools: readonly Tool[]
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>
  /** Calls a tool that must succeed. @returns its structured content */
  data<T = Record<string, unknown>>(name: string, args?: Record<string, unknown>): Promise<T>
  /** Calls a tool that must fail. @returns its message */
  refusal(name: string, args?: Record<string, unknown>): Promise<string>
}

/** A host that runs `countersign mcp` over standard input and output. */
export interface StdioHost extends McpHost {
  stderr(): string
}

export async function startStdioHost(t: Cleanup, cli: Cli, ...args: string[]): Promise<StdioHost> {
  const stdin = new PassThrough()
  const io = cli.io({ stdin })
  const ended = run(['mcp', ...args], io)
  t.after(async () => {
    stdin.end()
    assert.equal(await ended, 0)
  })
  const host = await connectHost(t, new StreamTransport(io.stdout, stdin))
  return { ...host, stderr: () => io.written().stderr }
}

/** The client side of the stdio transport, over streams of this process. */
class StreamTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  readonly #input: Readable
  readonly #output: Writable
  readonly #buffer = new ReadBuffer()

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', (chunk) => {
      this.#buffer.append(Buffer.from(chunk))
      for (;;) {
        const message = this.#buffer.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      }
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#output.write(serializeMessage(message))
  }

  async close(): Promise<void> {
    this.#output.end()
    this.onclose?.()
  }
}

/** A host that connects to an endpoint. */
export function connectHttpHost(t: Cleanup, url: string, token: string): Promise<McpHost> {
  const headers = { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  return connectHost(t, transport as Transport)
}

export async function connectHost(t: Cleanup, transport: Transport): Promise<McpHost> {
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await client.connect(transport)
  // From now on the client knows the output schemas and checks results against them.
  const { tools } = await client.listTools()
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })) as CallToolResult
  return {
    client,
    tools,
    call,
    async data<T>(name: string, args?: Record<string, unknown>) {
      const result = await call(name, args)
      assert.ok(!result.isError, textOf(result))
      return result.structuredContent as T
    },
    async refusal(name, args) {
      const result = await call(name, args)
      assert.equal(result.isError, true, textOf(result))
      assert.equal(result.structuredContent, undefined)
      return textOf(result)
    },
  }
}

export function textOf({ content }: CallToolResult): string {
  const [first, ...more] = content
  assert.equal(more.length, 0)
  assert.equal(first?.type, 'text')
  return first.text
}

/** `countersign mcp --http` in this process. */
export interface HttpServer {
  readonly url: string
  /** Null if the server was given one. */
  readonly token: string | null
  /** Standard output and standard error. */
  output(): string
  /** Signals it to stop. @returns its exit code */
  stop(): Promise<number>
}

export async function startHttpServer(
  t: Cleanup,
  cli: Cli,
  ...args: string[]
): Promise<HttpServer> {
  const { promise: signalled, resolve: signal } = Promise.withResolvers<void>()
  const io = cli.io({ untilSignalled: () => signalled })
  const ended = run(['mcp', '--http', '0', '--json', ...args], io)
  const stop = () => {
    signal()
    return ended
  }
  t.after(stop)
  const line = once(io.stdout, 'data').then(([text]) => String(text))
  const printed = await Promise.race([line, ended.then(() => io.written().stderr)])
  const { url, token = null } = JSON.parse(printed)
  const output = () => io.written().stdout + io.written().stderr
  return { url, token, output, stop }
}

/** A message of JSON-RPC, on a line of its own. */
export function jsonRpc(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
}

/** The first message of a client. */
export const INITIALIZE = jsonRpc(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

export function toolCall(id: number, name: string, args: unknown): string {
  return jsonRpc(id, 'tools/call', { name, arguments: args })
}
