import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { SCENARIO_NAMES, type ScenarioName } from './scenarios.ts'

/** The values of `--only`: one measurement, or start-up and memory together. */
type Part = ScenarioName | (typeof OTHERS)[number]
const OTHERS = [
  'keys',
  'nonces',
  'signing',
  'organisations',
  'enrolment',
  'approvals',
  'reports',
  'events',
  'revocation',
  'offline',
  'followers',
  'footprint',
] as const
const PARTS: readonly Part[] = [...SCENARIO_NAMES, ...OTHERS]
/** `--only proof`: everything about signed requests. */
const PROOF: readonly Part[] = PARTS.filter(
  (name) => name.startsWith('proof-') || name === 'nonces' || name === 'signing',
)

export type Generator = 'wrk' | 'autocannon'
type Kind = 'sqlite' | 'postgres'

export interface Options {
  /** The database that countersign uses. */
  readonly database: Kind
  readonly agents: number
  /** For each measurement of each system in each round. */
  readonly seconds: number
  readonly connections: number
  /** The same for claims, which wait for the disk together. */
  readonly claimConnections: number
  readonly rounds: number
  /** The number of processes that share one PostgreSQL, compared with a single one; 1 skips the comparison. */
  readonly nodes: number
  /** The number of workers (WORKERS), compared with a single process; 1 skips the comparison. */
  readonly workers: number
  /** Another checkout of the project, whose service takes turns with this one, or null. */
  readonly before: string | null
  /** The number of timed revocations, at other processes. */
  readonly revocations: number
  /** The same at gateways that follow the feed. */
  readonly gatewayRevocations: number
  /** Followers of the status feed that poll through a cache. */
  readonly followers: number
  /** The total time in seconds that the run may wait for other programs to finish. */
  readonly patience: number
  readonly parts: ReadonlySet<Part>
  /** Null: wrk if it is installed. */
  readonly generator: Generator | null
  readonly json: boolean
  /** Seeds again even if a seeded database of this size exists. */
  readonly fresh: boolean
}

/** The measurement that the aims for claims refer to. */
const CLAIM_CONNECTIONS = 128

export const HELP = `Measures Countersign beside a bare node:http server and a naive Express server (bench/README.md).

  npm run bench -- [options]

  --database D      sqlite or postgres: where countersign has its data (sqlite)
  --agents N        agents in the database (10000)
  --seconds S       length of each measurement (5)
  --connections C   connections, and so requests in flight (64; for claims ${CLAIM_CONNECTIONS})
  --rounds R        rounds in which the systems take turns; the median counts (3)
  --nodes N         also measure N processes on one PostgreSQL beside one: load on all, and revocations (1)
  --workers N       also measure WORKERS=N beside one process, likewise (1)
  --before DIR      also measure the service of another checkout, for example of the release before: public endpoints,
                    claims, gateways, start-up and memory
  --revocations N   how many are timed: at other processes (200), at gateways (1000)
  --followers N     gateways that poll through nginx's cache, beside 100 of them (10000)
  --patience S      wait up to S seconds in all for other programs to be quiet, and repeat rounds they spoilt (0)
  --only a,b        of: ${PARTS.join(', ')};
                    proof: all about signed requests
  --generator G     wrk or autocannon (wrk where it is installed)
  --fresh           seed anew, though a seeded database is at hand
  --json            one JSON document on standard output, and nothing else
  --help            this text`

/** The program of the service in a checkout. */
export function serviceOf(root: string): string {
  return join(root, 'packages/server/bin/countersignd.mjs')
}

/** A mistake in the arguments, or a request for help. Displayed without a stack trace. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Parses the command line.
 * @returns null if help was requested
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | null {
  const values = parse(args)
  if (values.help) return null
  const connections = integer('connections', values.connections ?? '64', 1, 1024)
  const options: Options = {
    database: oneOf('database', ['sqlite', 'postgres'] as const, values.database),
    agents: integer('agents', values.agents, 1, 10_000_000),
    seconds: integer('seconds', values.seconds, 1, 600),
    connections,
    claimConnections: values.connections === undefined ? CLAIM_CONNECTIONS : connections,
    rounds: integer('rounds', values.rounds, 1, 100),
    nodes: integer('nodes', values.nodes, 1, 8),
    workers: integer('workers', values.workers, 1, 8),
    revocations: integer('revocations', values.revocations ?? '200', 1, 100_000),
    gatewayRevocations: integer('revocations', values.revocations ?? '1000', 1, 100_000),
    followers: integer('followers', values.followers, 100, 100_000),
    before: values.before === undefined ? null : checkout(values.before),
    patience: integer('patience', values.patience, 0, 86_400),
    parts: new Set(values.only === undefined ? PARTS : values.only.split(',').flatMap(partsOf)),
    generator:
      values.generator === undefined
        ? null
        : oneOf('generator', ['wrk', 'autocannon'] as const, values.generator),
    json: values.json,
    fresh: values.fresh,
  }
  if (options.nodes > 1 && options.database === 'sqlite') {
    throw new UsageError('--nodes needs --database postgres: a file is served by one process')
  }
  if (options.before !== null && options.database === 'postgres') {
    throw new UsageError('--before needs --database sqlite: each checkout writes its own file')
  }
  return options
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        database: { type: 'string', default: 'sqlite' },
        agents: { type: 'string', default: '10000' },
        seconds: { type: 'string', default: '5' },
        connections: { type: 'string' },
        rounds: { type: 'string', default: '3' },
        nodes: { type: 'string', default: '1' },
        workers: { type: 'string', default: '1' },
        before: { type: 'string' },
        revocations: { type: 'string' },
        followers: { type: 'string', default: '10000' },
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

function integer(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`--${name} takes a number from ${min} to ${max}`)
}

function partsOf(text: string): readonly Part[] {
  if (text.trim() === 'proof') return PROOF
  const part = PARTS.find((each) => each === text.trim())
  if (part === undefined) throw new UsageError(`--only takes, by commas: ${PARTS.join(', ')}`)
  return [part]
}

function oneOf<T extends string>(name: string, choices: readonly T[], text: string): T {
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  throw new UsageError(`--${name} takes ${choices.join(' or ')}`)
}

/** @returns its absolute path */
function checkout(path: string): string {
  const root = resolve(path)
  if (existsSync(serviceOf(root))) return root
  throw new UsageError(`--before takes a checkout; ${serviceOf(root)} does not exist`)
}
