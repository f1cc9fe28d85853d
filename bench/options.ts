import { parseArgs } from 'node:util'
import { QUESTION_NAMES, type QuestionName } from './questions.ts'

/** What can be left out by `--only`: a measurement, or start-up and memory together. */
type Part = QuestionName | 'footprint'
const PARTS: readonly Part[] = [...QUESTION_NAMES, 'footprint']

export type Generator = 'wrk' | 'autocannon'

export interface Options {
  readonly agents: number
  /** Of each measurement of each system in each round. */
  readonly seconds: number
  readonly connections: number
  readonly rounds: number
  /** How many seconds the run may wait, in all, for other programs to leave the machine alone. */
  readonly patience: number
  readonly parts: ReadonlySet<Part>
  /** Null: wrk where it is installed. */
  readonly generator: Generator | null
  readonly json: boolean
  /** Seeds anew where a seeded database of this size is there already. */
  readonly fresh: boolean
}

export const HELP = `Measures Countersign beside a bare node:http server and a naive Express server (bench/README.md).

  npm run bench -- [options]

  --agents N        agents in the database (10000)
  --seconds S       length of each measurement (5)
  --connections C   connections, and so requests in flight (64)
  --rounds R        rounds in which the systems take turns; the median counts (3)
  --patience S      wait up to S seconds in all for other programs to be quiet, and repeat rounds they spoilt (0)
  --only a,b        of: ${PARTS.join(', ')}
  --generator G     wrk or autocannon (wrk where it is installed)
  --fresh           seed anew, though a seeded database is at hand
  --json            one JSON document on standard output, and nothing else
  --help            this text`

/** A mistake in the arguments, or the wish for help: to be shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Reads the command line.
 * @returns null where help was asked for
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | null {
  const values = parse(args)
  if (values.help) return null
  return {
    agents: integer('agents', values.agents, 1, 10_000_000),
    seconds: integer('seconds', values.seconds, 1, 600),
    connections: integer('connections', values.connections, 1, 1024),
    rounds: integer('rounds', values.rounds, 1, 100),
    patience: integer('patience', values.patience, 0, 86_400),
    parts: new Set(values.only === undefined ? PARTS : values.only.split(',').map(partOf)),
    generator: values.generator === undefined ? null : generatorOf(values.generator),
    json: values.json,
    fresh: values.fresh,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        agents: { type: 'string', default: '10000' },
        seconds: { type: 'string', default: '5' },
        connections: { type: 'string', default: '64' },
        rounds: { type: 'string', default: '3' },
        patience: { type: 'string', default: '0' },
        only: { type: 'string' },
        generator: { type: 'string' },
        json: { type: 'boolean', default: false },
        fresh: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function integer(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new UsageError(`--${name} takes a number from ${least} to ${most}`)
}

function partOf(text: string): Part {
  const part = PARTS.find((each) => each === text.trim())
  if (part === undefined) throw new UsageError(`--only takes, by commas: ${PARTS.join(', ')}`)
  return part
}

function generatorOf(text: string): Generator {
  if (text === 'wrk' || text === 'autocannon') return text
  throw new UsageError('--generator takes wrk or autocannon')
}
