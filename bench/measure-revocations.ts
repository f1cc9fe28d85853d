import { Agent } from 'node:http'
import { type Ask, ask } from './exchange.ts'
import { loadServers } from './load.ts'
import { loadOf, type Material } from './material.ts'
import type { Options } from './options.ts'
import { claimAgent, demand, type OwnerHeaders, revokeAsk, signIn } from './owner-client.ts'
import { quantile } from './quantile.ts'
import { QUESTIONS } from './questions.ts'
import type { By, Several } from './several.ts'
import type { Bench } from './systems.ts'

/** Milliseconds. */
interface Times {
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

/** How long revocations at one process took to be refused by every other. */
export interface Revocations {
  readonly by: By
  readonly processes: number
  readonly underLoad: boolean
  readonly count: number
  /** From the moment in which the revocation was asked for. */
  readonly sinceAsked: Times
  /** From the moment in which it was answered; 0 where the refusal came before. */
  readonly sinceAnswered: Times
  /** Milliseconds for the longest since it was answered. */
  readonly aim: { readonly most: number; readonly met: boolean }
}

const VISIBLE_WITHIN_MS = 1000
/** The owner of the seed whose agents are claimed and revoked here. */
const OWNER = 1
/** Each worker has some of so many connections. */
const CONNECTIONS_A_WORKER = 4

/** Revokes agents one after another, through the front door of one process, and asks the others until all refuse. */
export async function measureRevocations(
  bench: Bench,
  options: Options,
  material: Material,
  several: Several,
): Promise<Revocations[]> {
  const [port] = several.ports as [number]
  const headers = await signIn(several.copy.place, OWNER)
  const { scope, machine } = bench
  const { connections, seconds } = options
  const lookups = loadOf(QUESTIONS.lookup, material, { port, connections, seconds })
  const load = () => loadServers(scope, machine, several.ports, lookups)
  const results: Revocations[] = []
  for (const underLoad of [false, true]) {
    bench.say(`revocations, ${several.count} ${several.by}${underLoad ? ', under load' : ''}`)
    const dids: string[] = []
    for (let i = 0; i < options.revocations; i++) {
      dids.push(await claimAgent(port, headers, `to be revoked ${underLoad} ${i}`))
    }
    const timing = timeAll(several, headers, dids)
    const times = await (underLoad ? beside(timing, load) : timing)
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

/** Repeats a load until some work is done. */
async function beside<T>(work: Promise<T>, load: () => Promise<unknown>): Promise<T> {
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

async function timeAll(
  several: Several,
  headers: OwnerHeaders,
  dids: readonly string[],
): Promise<Time[]> {
  const [port, ...others] = several.ports as [number, ...number[]]
  const places =
    several.by === 'nodes' ? others : Array(several.count * CONNECTIONS_A_WORKER).fill(port)
  const observers = places.map((at: number) => ({ port: at, agent: connection() }))
  const revoker = connection()
  await Promise.all(observers.map((observer) => untilIt(observer, 'active', dids.at(-1) as string)))
  const times: Time[] = []
  for (const did of dids) {
    const asked = performance.now()
    const answered = demand(port, revokeAsk(headers, did), 200, revoker).then(() =>
      performance.now(),
    )
    const refused = observers.map((observer) => untilIt(observer, 'revoked', did))
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

/** Asks again and again. @returns when the answer came that says of an agent that it is active, or revoked */
async function untilIt(
  { port, agent }: Observer,
  is: 'active' | 'revoked',
  did: string,
): Promise<number> {
  const lookup: Ask = { method: 'GET', path: `/api/v1/agent/${did}` }
  for (;;) {
    const { status, body } = await ask(port, lookup, agent)
    const at = performance.now()
    if (status === 200 && JSON.parse(`${body}`).certificate.status === is) return at
    // One that was claimed a moment ago is not known everywhere.
    if (status !== 200 && !(status === 404 && is === 'active')) {
      throw new Error(`${lookup.path} answered ${status}: ${body}`)
    }
  }
}

function connection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 })
}

function timesOf(values: readonly number[]): Times {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), longest: Math.max(...values) }
}
