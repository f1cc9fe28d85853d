import { Agent, request } from 'node:http'

/** Keep-alive connections to all nodes. */
const connections = new Agent({ keepAlive: true, maxSockets: 64 })

/** A response that has not arrived by then counts as missing. */
export const MAX_WAIT_MS = 60_000

export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** @returns null if the connection closed without a response or the time-out passed */
export function ask(
  method: 'GET' | 'POST',
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Reply | null> {
  return new Promise((resolve) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(MAX_WAIT_MS)
    const options = { method, headers: { ...headers, ...type }, agent: connections, signal }
    const outgoing = request(url, options, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => (text += chunk))
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: parse(text) }))
      incoming.on('error', () => resolve(null))
    })
    outgoing.on('error', () => resolve(null))
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return { text }
  }
}

/** The agent's status according to a node: `active`, `suspended`, `revoked`, else the HTTP status, or `no answer`. */
export async function statusAt(node: string, did: string): Promise<string> {
  const reply = await ask('GET', `${node}/api/v1/agent/${did}`)
  if (reply === null) return 'no answer'
  if (reply.status !== 200) return String(reply.status)
  return (reply.body.certificate as { status: string }).status
}
