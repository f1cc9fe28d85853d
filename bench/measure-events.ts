import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `events.ts` gets. */
export interface EventsTask {
  readonly turns: number
}

/** Microseconds of processor time, of the receiver or the client too. */
export interface Events {
  /** A delivery in each format, from its composition to the answer of the receiver. */
  readonly standard: number
  readonly ocsf: number
  readonly set: number
  /** A page of 500 events, in each format. */
  readonly page: number
  readonly ocsfPage: number
}

const TURNS = 40
const DEADLINE_SECONDS = 600

/** Measures events that are pulled and pushed, in a process of its own. */
export function measureEvents({ scope, machine, say }: Bench): Promise<Events> {
  say('events, pulled and pushed')
  const task: EventsTask = { turns: TURNS }
  const deadline = { seconds: DEADLINE_SECONDS }
  const script = import.meta.resolve('./events.ts')
  return runScript(scope, machine, deadline, script, task) as Promise<Events>
}

export function eventLines({ standard, ocsf, set, page, ocsfPage }: Events): string[] {
  return [
    line('a delivery as OCSF', ocsf, standard, 0.95, 'Standard Webhooks'),
    line('a delivery as a Security Event Token', set, standard, 0.8, 'Standard Webhooks'),
    line('a page of 500 events in OCSF', ocsfPage, page, 0.8, 'the same as the activity has it'),
  ]
}

function line(what: string, cost: number, base: number, aim: number, beside: string): string {
  const part = base / cost
  return (
    `${what}: ${count(1e6 / cost)}/s, ${ratio(part)} of ${beside} (${count(1e6 / base)}/s), by processor time; ` +
    `aim: >= ${aim}: ${part >= aim ? 'yes' : 'no'}`
  )
}
