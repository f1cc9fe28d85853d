import { fileURLToPath } from 'node:url'
import type { GatewaySiteTask } from './gateway-site.ts'
import { HOST, type HttpRequest, sendRequest } from './http-exchange.ts'
import { linesOf } from './lines.ts'
import { type Load, loadServer } from './load.ts'
import type { Options } from './options.ts'
import { freePort, type ServerProcess, startServer } from './process.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { type GatewayScenario, SCENARIOS, type ScenarioName } from './scenarios.ts'
import type { Seed } from './seed.ts'
import { type Bench, type Service, type System, startCountersign } from './systems.ts'

const ID_HEADER = 'ServiceID'
const CACHE_SECONDS = 5

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
  const start = (gateway: GatewaySiteTask['gateway']) =>
    startSite(bench, { framework, gateway, verifier: null }, [asked])
  const guarded = await start({
    service: `http://${HOST}:${service.port}`,
    cacheSeconds: cached ? CACHE_SECONDS : 0,
    issuer: null,
  })
  await checkGatewayRefuses(guarded.port)
  const file = cached ? seed.hotTail : seed.tails
  const targets = [targetOf(bench, options, file, 'countersign', guarded)]
  // Without a gateway, the service would not use the shared core, so the site alone is no fair ceiling here.
  const open = cached ? await start(null) : null
  if (open !== null) targets.push(targetOf(bench, options, file, 'ceiling', open))
  for (const target of targets) await target.load()
  const measurement = await measureRounds(bench, scenario, targets, options.rounds)
  await guarded.stop()
  await open?.stop()
  return measurement
}

/** Starts `gateway-site.ts` at a free port. */
export async function startSite(
  { scope, machine }: Bench,
  site: Omit<GatewaySiteTask, 'port'>,
  until: readonly HttpRequest[],
): Promise<ServerProcess> {
  const port = await freePort()
  const task: GatewaySiteTask = { port, ...site }
  const args = [fileURLToPath(import.meta.resolve('./gateway-site.ts')), JSON.stringify(task)]
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
