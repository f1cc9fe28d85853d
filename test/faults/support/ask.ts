import { Agent, request } from 'node:http'

/** Connections that callers keep, to all nodes. */
const connections = new Agent({ keepAlive: true, maxSockets: 64 })

/** No caller waits longer: an answer that has not come by then is one that does not come. */
export const LONGEST_WAIT_MS = 60_000

export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** @returns null where the connection ended without an answer, or none came in time */
export function ask(
  method: 'GET' | 'POST',
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Reply | null> {
  return new Promise((resolve) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS)
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

/** What a node says of an agent: `active`, `suspended`, `revoked`, else the status of the answer, or `no answer`. */
export async function saysOf(node: string, did: string): Promise<string> {
  const reply = await ask('GET', `${node}/api/v1/agent/${did}`)
  if (reply === null) return 'no answer'
  if (reply.status !== 200) return String(reply.status)
  return (reply.body.certificate as { status: string }).status
}
