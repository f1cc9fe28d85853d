import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `enrolment.ts` gets. */
export interface EnrolmentTask {
  readonly turns: number
}

/** Microseconds of processor time, client included. */
export interface Enrolments {
  readonly claim: number
  /** Of a new agent. */
  readonly enrolment: number
  readonly renewal: number
}

const TURNS = 12
const DEADLINE_SECONDS = 600
const RATIO_OF_ENROLMENT = 0.5
const RATIO_OF_RENEWAL = 0.8

/** Measures enrolments beside claims, in a process of its own. */
export function measureEnrolment({ scope, machine, say }: Bench): Promise<Enrolments> {
  say('enrolments')
  const task: EnrolmentTask = { turns: TURNS }
  const script = import.meta.resolve('./enrolment.ts')
  const deadline = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, deadline, script, task) as Promise<Enrolments>
}

export function enrolmentLines({ claim, enrolment, renewal }: Enrolments): string[] {
  const line = (what: string, cost: number, aim: number) => {
    const part = claim / cost
    return (
      `${what}: ${count(1e6 / cost)}/s, ${ratio(part)} of claims (${count(1e6 / claim)}/s), by processor time; ` +
      `aim: >= ${aim}: ${part >= aim ? 'yes' : 'no'}`
    )
  }
  return [
    line('enrolments of new agents', enrolment, RATIO_OF_ENROLMENT),
    line('renewals of enrolled agents', renewal, RATIO_OF_RENEWAL),
  ]
}
