import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `approvals.ts` gets. */
export interface ApprovalsTask {
  readonly turns: number
}

/** Microseconds of processor time. */
export interface Approvals {
  /** The signature of a request with a header for an approval, which is not looked at. */
  readonly signature: number
  readonly signatureAndApproval: number
  /** Through a gateway that trusts the issuer, without HTTP. */
  readonly request: number
  readonly approvedRequest: number
}

const TURNS = 60
const DEADLINE_SECONDS = 300
/** Of a signature alone, and of a request without an approval. */
const AIMS = { verifying: 0.4, admitting: 0.6 }

/** Measures what an approval adds to a request, in a process of its own. */
export function measureApprovals({ scope, machine, say }: Bench): Promise<Approvals> {
  say('approvals')
  const task: ApprovalsTask = { turns: TURNS }
  const script = import.meta.resolve('./approvals.ts')
  const deadline = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, deadline, script, task) as Promise<Approvals>
}

export function approvalLines({
  signature,
  signatureAndApproval,
  request,
  approvedRequest,
}: Approvals): string[] {
  return [
    line(
      'a signature and an approval',
      signatureAndApproval,
      'the signature alone',
      signature,
      AIMS.verifying,
    ),
    line(
      'a request with an approval through a gateway',
      approvedRequest,
      'one without',
      request,
      AIMS.admitting,
    ),
  ]
}

function line(what: string, took: number, other: string, alone: number, aim: number): string {
  const part = alone / took
  return (
    `${what}: ${count(1e6 / took)}/s, ${ratio(part)} of ${other} (${count(1e6 / alone)}/s), by processor time; ` +
    `aim: >= ${aim}: ${part >= aim ? 'yes' : 'no'}`
  )
}
