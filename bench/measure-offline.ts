import { runScript } from './load.ts'
import type { Options } from './options.ts'
import type { Times } from './statistics.ts'
import type { Bench } from './systems.ts'
import { count, milliseconds, ratio } from './table.ts'

/** What `offline.ts` gets. */
export interface OfflineTask {
  /** Timed at 1 and at 100 gateways. */
  readonly revocations: number
  readonly decisions: number
}

/** What gateways do by certificates. */
export interface OfflineDecisions {
  /** From the request of an owner to revoke an agent until the last of the gateways refuses it, through the feed. */
  readonly arrivals: readonly {
    readonly gateways: number
    /** How they follow the feed. */
    readonly way: 'stream' | 'poll'
    readonly count: number
    readonly times: Times
  }[]
  /** Microseconds of a decision by a known certificate and staple, without the signature of the request. */
  readonly decision: number
  /** Microseconds of a signed request with a known certificate through the gateway, with the service switched off. */
  readonly request: number
  /** Microseconds of one Ed25519 verification by node:crypto. */
  readonly verification: number
}

const DECISION_MICROSECONDS = 50
const RATIO_TO_VERIFICATION = 0.7

const SCRIPT = import.meta.resolve('./offline.ts')
const DECISIONS = 20_000
const DEADLINE_SECONDS = 7200

/** Measures the gateway's offline mode: the service in one process, 100 gateways in another, both on any core. */
export function measureOffline(
  { scope, machine, say }: Bench,
  { gatewayRevocations: revocations }: Options,
): Promise<OfflineDecisions> {
  say('decisions by certificates')
  const task: OfflineTask = { revocations, decisions: DECISIONS }
  const limit = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, limit, SCRIPT, task, 'all') as Promise<OfflineDecisions>
}

export function offlineLines(offline: OfflineDecisions): string[] {
  const { arrivals, decision, request, verification } = offline
  const part = verification / request
  return [
    ...arrivals.map(({ gateways, way, count: timed, times: { p50, p99, longest } }) => {
      const who = gateways === 1 ? '1 gateway' : `the last of ${gateways} gateways`
      return (
        `revocation to refusal through the feed (${way}), ${who}: p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, ` +
        `longest ${milliseconds(longest)} since it was asked for (${count(timed)} revocations)`
      )
    }),
    `a decision by a known certificate, without the signature: ${decision.toFixed(1)} µs; ` +
      `aim: <= ${DECISION_MICROSECONDS} µs: ${decision <= DECISION_MICROSECONDS ? 'yes' : 'no'}`,
    `a signed request with a known certificate, the service switched off: ${count(1e6 / request)}/s; ` +
      `${ratio(part)} of one verification by node:crypto (${count(1e6 / verification)}/s); ` +
      `aim: >= ${RATIO_TO_VERIFICATION}: ${part >= RATIO_TO_VERIFICATION ? 'yes' : 'no'}`,
  ]
}
