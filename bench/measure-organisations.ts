import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `organisations.ts` gets. */
export interface OrganisationsTask {
  readonly turns: number
  /** Of the member who leaves. */
  readonly agents: number
}

/** Microseconds of processor time, client included. */
export interface Organisations {
  /** A change and a read of one's own account, and the same for an organisation. */
  readonly ownChange: number
  readonly change: number
  readonly ownRead: number
  readonly read: number
  /** The end of a membership of somebody responsible for 10 agents, and for many. */
  readonly endOfFew: number
  readonly endOfMany: number
}

const TURNS = 40
const AGENTS = 100_000
const DEADLINE_SECONDS = 600
const RATIO_TO_OWN = 0.85
const RATIO_OF_ENDS = 0.8

/** Measures requests of members in a process of its own. */
export function measureOrganisations({ scope, machine, say }: Bench): Promise<Organisations> {
  say('requests for an organisation')
  const task: OrganisationsTask = { turns: TURNS, agents: AGENTS }
  const script = import.meta.resolve('./organisations.ts')
  const deadline = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, deadline, script, task) as Promise<Organisations>
}

export function organisationLines(found: Organisations): string[] {
  return [
    line('a change for an organisation', found.change, found.ownChange, RATIO_TO_OWN),
    line('a read for an organisation', found.read, found.ownRead, RATIO_TO_OWN),
    line(
      `the end of a membership with ${count(AGENTS)} agents`,
      found.endOfMany,
      found.endOfFew,
      RATIO_OF_ENDS,
      '10 agents',
    ),
  ]
}

function line(what: string, cost: number, base: number, aim: number, beside = 'one’s own account') {
  const part = base / cost
  return (
    `${what}: ${count(1e6 / cost)}/s, ${ratio(part)} of ${beside} (${count(1e6 / base)}/s), by processor time; ` +
    `aim: >= ${aim}: ${part >= aim ? 'yes' : 'no'}`
  )
}
