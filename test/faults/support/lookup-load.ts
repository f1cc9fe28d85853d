import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LookupOptions {
  readonly inFlight: number
  /** The delay of each caller after an answer, in milliseconds. */
  readonly pace: number
  readonly until: AbortSignal
}

export interface LookupTally {
  /** Counts by answer: `active` and other statuses, status and code of an error, or `no answer`. */
  readonly answers: Map<string, number>
  /** Latencies of the answered lookups, in milliseconds. */
  readonly times: number[]
}

/**
 * Looks up agents until stopped.
 * @param didOf the agent to look up next; null if there is none yet
 */
export async function lookUpClaims(
  url: string,
  didOf: () => string | null,
  { inFlight, pace, until }: LookupOptions,
): Promise<LookupTally> {
  const answers = new Map<string, number>()
  const times: number[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  const caller = async () => {
    while (!until.aborted) {
      const did = didOf()
      if (did !== null) {
        const began = performance.now()
        const answer = await statusAt(`${url}/api/v1/agent/${did}`, agent)
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
        if (answer !== 'no answer') times.push(performance.now() - began)
      }
      await sleep(pace)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  agent.destroy()
  return { answers, times }
}

interface Body {
  readonly certificate?: { readonly status: string }
  readonly error?: { readonly code: string }
}

function statusAt(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request(url, { agent }, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => (text += chunk))
      incoming.on('error', () => resolve('no answer'))
      incoming.on('end', () => {
        const { certificate, error } = JSON.parse(text) as Body
        resolve(certificate?.status ?? `${incoming.statusCode} ${error?.code}`)
      })
    })
    outgoing.on('error', () => resolve('no answer'))
    outgoing.end()
  })
}

/** `active 1200 times`. */
export function formatAnswers({ answers }: LookupTally): string {
  return [...answers].map(([what, count]) => `${what} ${count} times`).join(', ')
}
