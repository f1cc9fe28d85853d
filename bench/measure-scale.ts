import { loadServers } from './load.ts'
import { measureRevocations, type Revocations } from './measure-revocations.ts'
import {
  type MultiProcess,
  type MultiProcessKind,
  multiProcessKinds,
  startMultiProcess,
} from './multi-process.ts'
import type { Options } from './options.ts'
import { loadOf, type RequestSamples } from './request-samples.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { SCENARIOS, type ScaleScenario, type ScenarioName } from './scenarios.ts'
import type { Bench, System } from './systems.ts'

interface Scaled {
  readonly measurements: Measurement[]
  readonly revocations: Revocations[]
}

/** Measures several processes beside one, if the options request it. */
export async function measureScale(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
): Promise<Scaled> {
  const measurements: Measurement[] = []
  const revocations: Revocations[] = []
  for (const by of multiProcessKinds(options)) {
    const names = namesOf(options, by)
    if (names.length === 0 && !options.parts.has('revocation')) continue
    const several = await startMultiProcess(bench, requestSamples.seed, by, options[by])
    if (names.length > 0) {
      const one = await startMultiProcess(bench, requestSamples.seed, by, 1)
      for (const name of names) {
        measurements.push(await measureOne(bench, options, requestSamples, name, { several, one }))
      }
      await one.stop()
    }
    if (options.parts.has('revocation')) {
      revocations.push(...(await measureRevocations(bench, options, requestSamples, several)))
    }
    await several.stop()
  }
  return { measurements, revocations }
}

type ScaleName = {
  [N in ScenarioName]: (typeof SCENARIOS)[N] extends ScaleScenario ? N : never
}[ScenarioName]

function namesOf({ parts }: Options, by: MultiProcessKind): ScaleName[] {
  return (Object.keys(SCENARIOS) as ScenarioName[]).filter((name): name is ScaleName => {
    const scenario = SCENARIOS[name]
    return parts.has(name) && scenario.kind === 'scale' && scenario.by === by
  })
}

async function measureOne(
  bench: Bench,
  options: Options,
  requestSamples: RequestSamples,
  name: ScaleName,
  { several, one }: { readonly several: MultiProcess; readonly one: MultiProcess },
): Promise<Measurement> {
  const { asks, aims, title } = SCENARIOS[name]
  const scenario = {
    name,
    aims,
    processes: several.count,
    title: title.replace(several.by, `${several.count} ${several.by}`),
  }
  bench.say(scenario.title)
  const targetOf = (system: System, { ports, pids }: MultiProcess): Target => ({
    system,
    pids,
    load() {
      const { connections, seconds } = options
      const load = loadOf(SCENARIOS[asks], requestSamples, { port: 0, connections, seconds })
      return loadServers(bench.scope, bench.machine, ports, load)
    },
  })
  const targets = [targetOf('countersign', several), targetOf('one', one)]
  for (const target of targets) await target.load()
  return measureRounds(bench, scenario, targets, options.rounds)
}
