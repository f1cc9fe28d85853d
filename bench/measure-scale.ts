import { loadServers } from './load.ts'
import { loadOf, type Material } from './material.ts'
import { measureRevocations, type Revocations } from './measure-revocations.ts'
import type { Options } from './options.ts'
import { QUESTIONS, type QuestionName, type ScaleQuestion } from './questions.ts'
import { type Measurement, measureRounds, type Target } from './rounds.ts'
import { type By, type Several, severalOf, startSeveral } from './several.ts'
import type { Bench, System } from './systems.ts'

interface Scaled {
  readonly measurements: Measurement[]
  readonly revocations: Revocations[]
}

/** Measures several processes beside one, where the options ask for them. */
export async function measureScale(
  bench: Bench,
  options: Options,
  material: Material,
): Promise<Scaled> {
  const measurements: Measurement[] = []
  const revocations: Revocations[] = []
  for (const by of severalOf(options)) {
    const names = namesOf(options, by)
    if (names.length === 0 && !options.parts.has('revocation')) continue
    const several = await startSeveral(bench, material.seed, by, options[by])
    if (names.length > 0) {
      const one = await startSeveral(bench, material.seed, by, 1)
      for (const name of names) {
        measurements.push(await measureOne(bench, options, material, name, { several, one }))
      }
      await one.stop()
    }
    if (options.parts.has('revocation')) {
      revocations.push(...(await measureRevocations(bench, options, material, several)))
    }
    await several.stop()
  }
  return { measurements, revocations }
}

type ScaleName = {
  [N in QuestionName]: (typeof QUESTIONS)[N] extends ScaleQuestion ? N : never
}[QuestionName]

function namesOf({ parts }: Options, by: By): ScaleName[] {
  return (Object.keys(QUESTIONS) as QuestionName[]).filter((name): name is ScaleName => {
    const question = QUESTIONS[name]
    return parts.has(name) && question.kind === 'scale' && question.by === by
  })
}

async function measureOne(
  bench: Bench,
  options: Options,
  material: Material,
  name: ScaleName,
  { several, one }: { readonly several: Several; readonly one: Several },
): Promise<Measurement> {
  const { asks, aims, title } = QUESTIONS[name]
  const question = {
    name,
    aims,
    title: title.replace(several.by, `${several.count} ${several.by}`),
  }
  bench.say(question.title)
  const targetOf = (system: System, { ports, pids }: Several): Target => ({
    system,
    pids,
    load() {
      const { connections, seconds } = options
      const load = loadOf(QUESTIONS[asks], material, { port: 0, connections, seconds })
      return loadServers(bench.scope, bench.machine, ports, load)
    },
  })
  const targets = [targetOf('countersign', several), targetOf('one', one)]
  for (const target of targets) await target.load()
  return measureRounds(bench, question, targets, options.rounds)
}
