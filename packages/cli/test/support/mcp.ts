import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import { type Cli, COUNTERSIGN } from './cli.ts'

interface Cleanup {
  after(end: () => unknown): void
}

/** A host of the tools: the SDK's own client, which holds every result against its output schema. */
export interface McpHost {
  readonly client: Client
  readonly tools: readonly Tool[]
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>
  /** Calls a tool that has to succeed. @returns its structured content */
  data<T = Record<string, unknown>>(name: string, args?: Record<string, unknown>): Promise<T>
  /** Calls a tool that has to fail. @returns what it says */
  refusal(name: string, args?: Record<string, unknown>): Promise<string>
}

/** A host that starts `countersign mcp` itself. */
export interface StdioHost extends McpHost {
  stderr(): string
}

export async function startStdioHost(t: Cleanup, cli: Cli, ...args: string[]): Promise<StdioHost> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COUNTERSIGN, 'mcp', ...args],
    env: { ...cli.env },
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (chunk) => (stderr += chunk))
  return { ...(await connectHost(t, transport)), stderr: () => stderr }
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
  // From here on the client knows the output schemas, and judges by them.
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

/** `countersign mcp --http` as a process of its own. */
export interface HttpServer {
  readonly url: string
  /** Null where the server was given one. */
  readonly token: string | null
  readonly child: ChildProcess
  output(): string
  /** @returns its exit code */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export async function startHttpServer(
  t: Cleanup,
  cli: Cli,
  ...args: string[]
): Promise<HttpServer> {
  const child = spawn(process.execPath, [COUNTERSIGN, 'mcp', '--http', '0', '--json', ...args], {
    env: { PATH: process.env.PATH ?? '', ...cli.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let output = ''
  child.stderr.on('data', (chunk) => (output += chunk))
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return (await ended)[0] as number | null
  }
  t.after(() => stop('SIGKILL'))
  const first = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      output += chunk
      if (output.includes('"url"')) resolve(output)
    })
    void ended.then(() => reject(new Error(`the server ended: ${output}`)))
  })
  const { url, token = null } = JSON.parse(
    first.split('\n').find((line) => line.includes('"url"')) as string,
  )
  return { url, token, child, output: () => output, stop }
}

/** A message of JSON-RPC, on a line of its own. */
export function jsonRpc(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
}

/** How a client begins. */
export const INITIALIZE = jsonRpc(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

export function toolCall(id: number, name: string, args: unknown): string {
  return jsonRpc(id, 'tools/call', { name, arguments: args })
}
