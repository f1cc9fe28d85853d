import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { certificateOf } from '../test/support/agent-certificates.ts'
import { startCache } from '../test/support/front.ts'
import { freePort } from '../test/support/ports.ts'
import { claimAgent, startTestService, type TestService } from '../test/support/service.ts'
import { type SignedInOwner, signIn } from '../test/support/signed-in.ts'
import { type Reference, referenceIn } from '../test/support/status-feed.ts'
import type { Counts } from './follower-load.ts'
import type { FollowerLoad, FollowerTask } from './measure-followers.ts'
import { timesOf } from './statistics.ts'

// node followers.ts '{"followers":…}': what measure-followers.ts measures, in a process of its own. Prints `RESULT […]`.

/** More than `latest` has room for: followers have to read the feed after their cursor. */
const BURST = 200
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => void ends.push(end) }

interface Revocable extends Reference {
  readonly did: string
}

async function main({ followers, seconds, revocations }: FollowerTask): Promise<FollowerLoad[]> {
  const metricsPort = String(await freePort())
  const service = await startTestService(cleanup, {
    RATE_LIMITS: 'off',
    METRICS_PORT: metricsPort,
    TRUSTED_PROXIES: '127.0.0.0/8,::1',
  })
  const cache = await startCache(cleanup, String(service.settings.port))
  const metrics = `http://127.0.0.1:${metricsPort}/metrics`
  const loads: FollowerLoad[] = []
  for (const count of followers)
    loads.push(await measure(service, { cache, metrics, count, seconds, revocations }))
  return loads
}

interface Setting {
  readonly cache: string
  readonly metrics: string
  readonly count: number
  readonly seconds: number
  readonly revocations: number
}

async function measure(
  service: TestService,
  { cache, metrics, count, seconds, revocations }: Setting,
): Promise<FollowerLoad> {
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signIn(service, ownerId)
  const burst = await signIn(service, await service.operator.addVerifiedOwner())
  const agents: Revocable[] = []
  for (let i = 0; i < revocations; i += 1) agents.push(await newAgent(service, ownerId))
  const others: Revocable[] = []
  for (let i = 0; i < BURST; i += 1) others.push(await newAgent(service, burst.ownerId))

  const script = fileURLToPath(import.meta.resolve('./follower-load.ts'))
  const load = fork(script, [cache, service.url, String(count)])
  ends.push(() => load.kill())
  await told(load, { start: agents[0]?.list ?? 0 })
  const before = { ...(await counts(load)), served: await served(metrics) }
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const after = { ...(await counts(load)), served: await served(metrics) }

  const times: number[] = []
  for (const agent of agents) times.push(await timed(load, agent, () => revoke(owner, agent)))
  const last = others.at(-1) as Revocable
  const burstServed = await served(metrics)
  const burstTime = await timed(load, last, async () => {
    for (const each of others) await revoke(burst, each)
  })
  const burstRequests = (await served(metrics)) - burstServed - BURST
  const { failed } = await counts(load)
  if (failed > 0) throw new Error(`${failed} requests of followers failed`)
  load.send('stop')
  await once(load, 'exit')
  return {
    followers: count,
    sentPerSecond: (after.sent - before.sent) / seconds,
    servedPerSecond: (after.served - before.served) / seconds,
    revocations: timesOf(times),
    burst: { changes: BURST, ms: burstTime, served: burstRequests },
  }
}

async function newAgent(service: TestService, ownerId: number): Promise<Revocable> {
  const did = await claimAgent(service, ownerId)
  return { did, ...referenceIn(await certificateOf(service, did)) }
}

async function revoke(owner: SignedInOwner, { did }: Revocable): Promise<void> {
  const { status, text } = await owner.post(`/api/account/agents/${did}/revoke`, {
    reason: 'bench',
  })
  if (status !== 200) throw new Error(`the revocation failed: ${text}`)
}

/** @returns milliseconds from the request until the last follower knows */
async function timed(
  load: ChildProcess,
  { list, idx }: Reference,
  change: () => Promise<void>,
): Promise<number> {
  await told(load, { list, idx, status: 1 })
  const arrived = once(load, 'message')
  const from = performance.timeOrigin + performance.now()
  await change()
  const [at] = (await arrived) as [number]
  return at - from
}

async function told(load: ChildProcess, message: object | string): Promise<unknown> {
  const answer = once(load, 'message')
  load.send(message)
  return (await answer)[0]
}

async function counts(load: ChildProcess): Promise<Counts> {
  return (await told(load, 'counts')) as Counts
}

/** The requests that the service has answered. */
async function served(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text()
  const lines = text.matchAll(/^http_request_duration_seconds_count\{.*\} (\d+)$/gm)
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0)
}

try {
  console.log(`RESULT ${JSON.stringify(await main(JSON.parse(process.argv[2] ?? '')))}`)
} finally {
  for (const end of ends.reverse()) await end()
}
