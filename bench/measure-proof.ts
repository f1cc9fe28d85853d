import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HOST, type HttpRequest, sendRequest } from './http-exchange.ts'
import { runScript } from './load.ts'
import type { SignedLoadTask } from './load-signed.ts'
import { startSite, warmUp } from './measure-gateway.ts'
import type { Options } from './options.ts'
import { freePort, type ServerProcess, startServer } from './process.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { type ProofScenario, SCENARIOS, type ScenarioName } from './scenarios.ts'
import { realAgents, type Seed } from './seed.ts'
import type { SendResult } from './send-requests.ts'
import { BASE_URL, type Bench, type Service, type System, startCountersign } from './systems.ts'

const LOAD_SCRIPT = import.meta.resolve('./load-signed.ts')
const NONCE_SCRIPT = import.meta.resolve('./nonce-memory.ts')
const COMMAND = join(import.meta.dirname, '../packages/gateway/bin/countersign-gateway.mjs')
const READY: HttpRequest = { method: 'GET', path: '/readyz' }
/** One key may take a sixteenth of the nonces, so several agents sign. */
const AGENTS = 16
/** Where agents reach the site behind the proxy that asks countersign-gateway. */
const SHOP = 'https://shop.example'
/** The longest that a policy allows, so that keys are known. */
const CACHE_SECONDS = 60
const START_DEADLINE_MS = 60_000
/** Sites that only verify: nothing is faster than libsodium, and node:crypto is what a developer would take first. */
const VERIFIERS = [
  ['ceiling', 'libsodium'],
  ['naive', 'node:crypto'],
] as const

/** The memory of a nonce store. */
export interface NonceMemory {
  readonly entries: number
  readonly bytes: number
}

/** Fills a nonce store in a process of its own. */
export function measureNonces({ scope, machine, say }: Bench): Promise<NonceMemory> {
  say('nonces in memory')
  const task = { seconds: 60 }
  return runScript(scope, machine, task, NONCE_SCRIPT, {}) as Promise<NonceMemory>
}

/** Measures how many signed requests a gateway admits, beside a site that only verifies signatures. */
export async function measureProof(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  const names = (Object.keys(SCENARIOS) as ScenarioName[]).filter(
    (name) => options.parts.has(name) && SCENARIOS[name].kind === 'proof',
  )
  if (names.length === 0) return []
  const service = await startCountersign(bench, seed, [READY])
  const measurements: Measurement[] = []
  for (const name of names) {
    bench.say(SCENARIOS[name].title)
    const scenario = { name, ...(SCENARIOS[name] as ProofScenario) }
    measurements.push(await measureOne(bench, options, seed, scenario, service))
  }
  await service.stop()
  return measurements
}

async function measureOne(
  bench: Bench,
  options: Options,
  seed: Seed,
  scenario: ProofScenario & { readonly name: string },
  service: Service,
): Promise<Measurement> {
  const url = `http://${HOST}:${service.port}`
  const { site, signed, sodium } = scenario
  const agents = realAgents(seed, AGENTS)
  const servers: [System, ServerProcess][] = []
  if (site === 'command') {
    servers.push(['countersign', await startCommand(bench, url, signed)])
  } else {
    const gateway = { service: url, cacheSeconds: CACHE_SECONDS, issuer: BASE_URL }
    const verifier = sodium ? 'libsodium' : 'node:crypto'
    const guarded = await startSite(bench, { framework: site, gateway, verifier }, [])
    await untilRefusing(guarded.port)
    servers.push(['countersign', guarded])
    const started: HttpRequest[] = [{ method: 'GET', path: '/' }]
    for (const [system, verifier] of VERIFIERS) {
      const only = { framework: site, gateway: null, verifier }
      servers.push([system, await startSite(bench, only, started)])
    }
  }
  const targets = servers.map(([system, server]) => {
    const task = { port: server.port, agents, signed, proxied: site === 'command' ? SHOP : null }
    return targetOf(bench, options, system, server, task)
  })
  await warmUp(targets, options)
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  for (const [, server] of servers) await server.stop()
  return measurement
}

function targetOf(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  system: System,
  { pid }: ServerProcess,
  task: Omit<SignedLoadTask, 'connections' | 'seconds' | 'issuer'>,
): Target {
  return {
    system,
    pids: [pid],
    async load() {
      const whole: SignedLoadTask = { ...task, connections, seconds, issuer: BASE_URL }
      const sent = (await runScript(scope, machine, whole, LOAD_SCRIPT, whole)) as SendResult
      if (sent.refused === 0) return sent
      throw new Error(`${system} refused ${sent.refused} requests, first:\n${sent.firstRefusal}`)
    },
  }
}

async function startCommand(
  { scope, machine, dir }: Bench,
  service: string,
  requireProof: boolean,
): Promise<ServerProcess> {
  const port = await freePort()
  const file = join(dir, `gateway-${port}.json`)
  const policy = { cacheSeconds: CACHE_SECONDS, requireProof }
  const settings = {
    service,
    issuer: BASE_URL,
    audiences: [SHOP],
    port,
    logLevel: 'silent',
    policy,
  }
  writeFileSync(file, JSON.stringify(settings))
  return startServer(scope, {
    args: [COMMAND, '--config', file],
    env: { NODE_ENV: 'production' },
    port,
    core: machine.pinned?.server ?? null,
    until: [{ method: 'GET', path: '/healthz' }],
  })
}

/** A guarded site answers 200 to nobody here. */
async function untilRefusing(port: number): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS
  while (performance.now() < deadline) {
    const answer = await sendRequest(port, { method: 'GET', path: '/' }).catch(() => null)
    if (answer?.status === 401) return
    await sleep(20)
  }
  throw new Error('the gateway did not refuse an unsigned request')
}
