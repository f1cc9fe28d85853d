import { Agent } from 'node:http'
import { type HttpRequest, sendRequest } from './http-exchange.ts'
import { loadServers } from './load.ts'
import type { MultiProcess, MultiProcessKind } from './multi-process.ts'
import type { Options } from './options.ts'
import {
  claimAgent,
  type OwnerHeaders,
  revokeRequest,
  sendExpecting,
  signIn,
} from './owner-client.ts'
import { loadOf, type RequestSamples } from './request-samples.ts'
import { SCENARIOS } from './scenarios.ts'
import { type Times, timesOf } from './statistics.ts'
import type { Bench } from './systems.ts'

/** How long it took until all other processes refused an agent that one process had revoked. */
export interface Revocations {
  readonly by: MultiProcessKind
  readonly processes: number
  readonly underLoad: boolean
  readonly count: number
  /** Counted from sending the revocation. */
  readonly sinceAsked: Times
  /** Counted from the response to the revocation; 0 if a process refused the agent before that. */
  readonly sinceAnswered: Times
  /** The maximum, in milliseconds from the response. */
  readonly aim: { readonly most: number; readonly met: boolean }
}

const VISIBLE_WITHIN_MS = 1000
/** The owner in the seed whose agents are claimed and revoked here. */
const OWNER = 1
/** Enough connections that each worker has some of them. */
const CONNECTIONS_A_WORKER = 4

/** Revokes agents one by one at one process, and polls the others until all refuse them. */
export async function measureRevocations(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
  several: MultiProcess,
): Promise<Revocations[]> {
  const [port] = several.ports as [number]
  const headers = await signIn(several.copy.place, OWNER)
  const { scope, machine } = bench
  const { connections, seconds } = options
  const lookups = loadOf(SCENARIOS.lookup, requestSamples, { port, connections, seconds })
  const load = () => loadServers(scope, machine, several.ports, lookups)
  const results: Revocations[] = []
  for (const underLoad of [false, true]) {
    bench.say(`revocations, ${several.count} ${several.by}${underLoad ? ', under load' : ''}`)
    const dids: string[] = []
    for (let i = 0; i < options.revocations; i++) {
      dids.push(await claimAgent(port, headers, `to be revoked ${underLoad} ${i}`))
    }
    const timing = timeRevocations(several, headers, dids)
    const times = await (underLoad ? loadWhile(timing, load) : timing)
    const sinceAnswered = timesOf(times.map((each) => each.sinceAnswered))
    results.push({
      by: several.by,
      processes: several.count,
      underLoad,
      count: times.length,
      sinceAsked: timesOf(times.map((each) => each.sinceAsked)),
      sinceAnswered,
      aim: { most: VISIBLE_WITHIN_MS, met: sinceAnswered.longest <= VISIBLE_WITHIN_MS },
    })
  }
  return results
}

/** Repeats a load while some work runs. */
async function loadWhile<T>(work: Promise<T>, load: () => Promise<unknown>): Promise<T> {
  let over = false
  const end = () => {
    over = true
  }
  work.then(end, end)
  while (!over) await load()
  return work
}

interface Time {
  readonly sinceAsked: number
  readonly sinceAnswered: number
}

async function timeRevocations(
  several: MultiProcess,
  headers: OwnerHeaders,
  dids: readonly string[],
): Promise<Time[]> {
  const [port, ...others] = several.ports as [number, ...number[]]
  const places =
    several.by === 'nodes' ? others : Array(several.count * CONNECTIONS_A_WORKER).fill(port)
  const observers = places.map((at: number) => ({ port: at, agent: connection() }))
  const revoker = connection()
  await Promise.all(
    observers.map((observer) => pollUntil(observer, 'active', dids.at(-1) as string)),
  )
  const times: Time[] = []
  for (const did of dids) {
    const asked = performance.now()
    const answered = sendExpecting(port, revokeRequest(headers, did), 200, revoker).then(() =>
      performance.now(),
    )
    const refused = observers.map((observer) => pollUntil(observer, 'revoked', did))
    const [answeredAt, ...refusedAt] = await Promise.all([answered, ...refused])
    const last = Math.max(...refusedAt)
    times.push({ sinceAsked: last - asked, sinceAnswered: Math.max(0, last - answeredAt) })
  }
  for (const { agent } of observers) agent.destroy()
  revoker.destroy()
  return times
}

interface Observer {
  readonly port: number
  readonly agent: Agent
}

/**
 * Polls until the agent is active or revoked.
 * @returns when that answer was received
 */
async function pollUntil(
  { port, agent }: Observer,
  is: 'active' | 'revoked',
  did: string,
): Promise<number> {
  const lookup: HttpRequest = { method: 'GET', path: `/api/v1/agent/${did}` }
  for (;;) {
    const { status, body } = await sendRequest(port, lookup, agent)
    const at = performance.now()
    if (status === 200 && JSON.parse(`${body}`).certificate.status === is) return at
    // A new agent is not yet known to all processes.
    if (status !== 200 && !(status === 404 && is === 'active')) {
      throw new Error(`${lookup.path} answered ${status}: ${body}`)
    }
  }
}

function connection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 })
}
