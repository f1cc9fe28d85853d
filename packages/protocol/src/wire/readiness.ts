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
    lagBytes: nullable(count('what it has not replayed yet')),
    lagMs: nullable(count('how far it is behind; null while nothing happens')),
  })

/** The measured state of a node's database. */
const database = () =>
  Type.Object({
    kind: Type.Enum(['sqlite', 'postgres'], { type: 'string' }),
    role: Type.Enum(['file', 'primary', 'unreachable'], {
      type: 'string',
      description:
        'file: one file on this machine, which nothing follows; unreachable: the primary did not answer in time',
    }),
    position: count('the last event that shows in answers'),
    staleness: count(
      'for how many milliseconds this node has not heard what others have written; 0 with a file',
    ),
    commits: Type.Object({
      waitFor: Type.Enum(['disk', 'standby', 'unknown'], {
        type: 'string',
        description: 'what a write is on before it is answered',
      }),
      satisfied: nullable(
        Type.Boolean({
          description:
            'false: no standby is there that they wait for, so that no write is answered; null: not known',
        }),
      ),
    }),
    standbys: Type.Array(standby()),
    replica: Type.Enum(['none', 'current', 'behind', 'down'], {
      type: 'string',
      description: 'whether the standbys of REPLICA_URL answer lookups now',
    }),
  })

/** The response of a node that is ready for requests. */
export const readinessSchema = () =>
  Type.Object({ status: Type.Literal('ok'), database: database() })

export type DatabaseReport = Static<ReturnType<typeof database>>
