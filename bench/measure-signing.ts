import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `signing.ts` gets. */
export interface SigningTask {
  readonly turns: number
}

/** What an agent takes to sign, in microseconds of processor time. */
export interface Signing {
  /** A signature by node:crypto. */
  readonly signature: number
  /** A request that `Agent.sign` signs. */
  readonly request: number
}

const TURNS = 500
const RATIO_TO_SIGNATURE = 0.5
const DEADLINE_SECONDS = 600

/** Measures signing in a process of its own. */
export function measureSigning({ scope, machine, say }: Bench): Promise<Signing> {
  say('signing requests')
  const task: SigningTask = { turns: TURNS }
  const script = import.meta.resolve('./signing.ts')
  return runScript(scope, machine, { seconds: DEADLINE_SECONDS }, script, task) as Promise<Signing>
}

export function signingLine({ signature, request }: Signing): string {
  const part = signature / request
  return (
    `requests signed by an agent: ${count(1e6 / request)}/s; ${ratio(part)} of one signature by node:crypto ` +
    `(${count(1e6 / signature)}/s), by processor time; aim: >= ${RATIO_TO_SIGNATURE}: ${part >= RATIO_TO_SIGNATURE ? 'yes' : 'no'}`
  )
}
