import { join } from 'node:path'
import type { GatewaySiteTask } from './gateway-site.ts'
import { HOST, type HttpRequest, sendRequest } from './http-exchange.ts'
import { linesOf } from './lines.ts'
import { type Load, loadServer } from './load.ts'
import type { Options } from './options.ts'
import { freePort, type ServerProcess, startServer } from './process.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { type GatewayScenario, SCENARIOS, type ScenarioName } from './scenarios.ts'
import { ROOT, type Seed } from './seed.ts'
import { type Bench, type Service, type System, startCountersign } from './systems.ts'

const ID_HEADER = 'ServiceID'
const CACHE_SECONDS = 5
/** V8 compiles what a request takes for some 10,000 requests, and a site runs for days. */
const WARM_UPS = 3

/** Loads each target before the rounds, fewer times in a run of fewer rounds, whose ratios say little. */
export async function warmUp(targets: readonly Target[], { rounds }: Options): Promise<void> {
  for (let i = 0; i < Math.min(WARM_UPS, rounds); i += 1) {
    for (const target of targets) await target.load()
  }
}

/** Measures how much a gateway slows down the site behind it. */
export async function measureGateway(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<Measurement[]> {
  const names = (Object.keys(SCENARIOS) as ScenarioName[]).filter(
    (name) => options.parts.has(name) && SCENARIOS[name].kind === 'gateway',
  )
  if (names.length === 0) return []
  const service = await startCountersign(bench, seed, [{ method: 'GET', path: '/readyz' }])
  const measurements: Measurement[] = []
  for (const name of names) {
    bench.say(SCENARIOS[name].title)
    const scenario = { name, ...(SCENARIOS[name] as GatewayScenario) }
    measurements.push(await measureOne(bench, options, seed, scenario, service))
  }
  await service.stop()
  return measurements
}

async function measureOne(
  bench: Bench,
  options: Options,
  seed: Seed,
  scenario: GatewayScenario & { readonly name: string },
  service: Service,
): Promise<Measurement> {
  const { framework, cached } = scenario
  const [did = ''] = linesOf(seed.hotTail)
  const asked: HttpRequest = { method: 'GET', path: '/', headers: { [ID_HEADER]: did } }
  const gateway: GatewaySiteTask['gateway'] = {
    service: `http://${HOST}:${service.port}`,
    cacheSeconds: cached ? CACHE_SECONDS : 0,
    issuer: null,
  }
  const file = cached ? seed.hotTail : seed.tails
  const sites: ServerProcess[] = []
  const targets: Target[] = []
  const add = async (system: System, root = ROOT) => {
    const guard = system === 'ceiling' ? null : gateway
    const site = await startSite(
      bench,
      { framework, gateway: guard, verifier: null },
      [asked],
      root,
    )
    if (guard !== null) await checkGatewayRefuses(site.port)
    sites.push(site)
    targets.push(targetOf(bench, options, file, system, site))
  }
  await add('countersign')
  // Without a gateway, the service would not use the shared core, so the site alone is no fair ceiling here.
  if (cached) await add('ceiling')
  if (options.before !== null) await add('before', options.before)
  await warmUp(targets, options)
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  for (const site of sites) await site.stop()
  return measurement
}

/** Starts `gateway-site.ts` at a free port. @param root the checkout that it is of */
export async function startSite(
  { scope, machine }: Bench,
  site: Omit<GatewaySiteTask, 'port'>,
  until: readonly HttpRequest[],
  root = ROOT,
): Promise<ServerProcess> {
  const port = await freePort()
  const task: GatewaySiteTask = { port, ...site }
  // A gateway then finds no sodium-native.
  const flags = site.gateway !== null && site.verifier === 'node:crypto' ? ['--no-addons'] : []
  const args = [...flags, join(root, 'bench/gateway-site.ts'), JSON.stringify(task)]
  const env = { NODE_ENV: 'production' }
  return startServer(scope, {
    args,
    env,
    port,
    core: machine.pinned?.server ?? null,
    until,
  })
}

/** Checks that the site really refuses requests. */
async function checkGatewayRefuses(port: number): Promise<void> {
  const { status: nobody } = await sendRequest(port, { method: 'GET', path: '/' })
  const headers = { [ID_HEADER]: 'z'.repeat(24) }
  const { status: unknown } = await sendRequest(port, { method: 'GET', path: '/', headers })
  if (nobody !== 401 || unknown !== 403) throw new Error(`the gateway let in ${nobody}, ${unknown}`)
}

function targetOf(
  { scope, machine }: Bench,
  { connections, seconds }: Options,
  file: string,
  system: System,
  { pid, port }: ServerProcess,
): Target {
  return {
    system,
    pids: [pid],
    load() {
      const load: Load = {
        port,
        connections,
        seconds,
        file,
        method: 'GET',
        before: '/',
        after: '',
        headers: {},
        tailHeader: ID_HEADER,
      }
      return loadServer(scope, machine, load)
    },
  }
}
