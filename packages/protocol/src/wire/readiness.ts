import { type Static, Type } from 'typebox'
import { nullable } from './nullable.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const standby = () =>
  Type.Object({
    name: Type.String({ description: 'its application_name' }),
    state: Type.String({ description: 'pg_stat_replication.state: streaming, catchup, …' }),
    sync: Type.String({
      description: 'pg_stat_replication.sync_state: sync, quorum, potential, async',
    }),
    lagBytes: nullable(count('bytes that it has not replayed')),
    lagMs: nullable(count('replay delay; null while idle')),
  })

/** The measured state of a node's database. */
const database = () =>
  Type.Object({
    kind: Type.Enum(['sqlite', 'postgres'], { type: 'string' }),
    role: Type.Enum(['file', 'primary', 'unreachable'], {
      type: 'string',
      description: 'file: SQLite; unreachable: the primary did not respond in time',
    }),
    position: count('the last event that responses reflect'),
    staleness: count(
      'milliseconds since the node last knew all writes of other nodes; 0 with SQLite',
    ),
    commits: Type.Object({
      waitFor: Type.Enum(['disk', 'standby', 'unknown'], {
        type: 'string',
        description: 'what a commit waits for',
      }),
      satisfied: nullable(
        Type.Boolean({
          description:
            'false: the required standby is missing, so no write completes; null: unknown',
        }),
      ),
    }),
    standbys: Type.Array(standby()),
    replica: Type.Enum(['none', 'current', 'behind', 'down'], {
      type: 'string',
      description: 'whether the standbys of REPLICA_URL answer lookups now',
    }),
  })

/** Why a transparency log is halted. */
export const LOG_HALT_CODES = [
  'no-anchor',
  'behind',
  'other-entries',
  'other-key',
  'witness',
  'broken-row',
] as const
export type LogHaltCode = (typeof LOG_HALT_CODES)[number]

/** The transparency log on a node, which goes on serving everything else if the log is halted. */
const log = () =>
  Type.Object({
    state: Type.Enum(['ok', 'starting', 'halted'], {
      type: 'string',
      description:
        'starting: no checkpoint to serve yet, perhaps because its witnesses have not cosigned one; halted: not signed and not served until the operator has repaired it',
    }),
    size: count('entries under the checkpoint that the node serves'),
    code: Type.Unsafe<LogHaltCode | null>({
      type: ['string', 'null'],
      enum: [...LOG_HALT_CODES, null],
      description:
        'why it is halted. no-anchor: nothing on the machine shows what was signed; behind: the database lacks entries that were signed; other-entries: it has other ones; other-key: another key has signed; witness: a witness has cosigned what the database does not have; broken-row: an entry breaks a rule of the log',
    }),
    problem: nullable(Type.String({ description: 'why it is halted, and the ways out' })),
    witnesses: Type.Array(
      Type.Object({
        name: Type.String(),
        size: count('entries under the last checkpoint that it has cosigned'),
        state: Type.Enum(['ok', 'failing', 'refusing'], {
          type: 'string',
          description:
            'failing: it does not answer with a cosignature; refusing: it has cosigned entries that the log does not have, so the log is halted',
        }),
      }),
      { description: 'the witnesses of the log that the operator has configured' },
    ),
  })

/** The witness of other logs on a node (WITNESS_LOGS). */
const witness = () =>
  Type.Object({
    state: Type.Enum(['ok', 'halted'], {
      type: 'string',
      description: 'halted: it cosigns nothing until the operator has made a new key',
    }),
    problem: nullable(Type.String({ description: 'why it is halted' })),
  })

/** The response of a node that is ready for requests. */
export const readinessSchema = () =>
  Type.Object({
    status: Type.Literal('ok'),
    database: database(),
    log: log(),
    witness: Type.Optional(witness()),
  })

export type DatabaseReport = Static<ReturnType<typeof database>>
export type LogReport = Static<ReturnType<typeof log>>
export type WitnessReport = Static<ReturnType<typeof witness>>
