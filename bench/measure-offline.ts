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
  /** From the request of an owner to suspend an agent, and to end its delegations, until a gateway refuses it. */
  readonly ends: { readonly count: number; readonly suspension: Times; readonly end: Times }
  /** Microseconds of a decision by a known certificate and staple, without the signature of the request. */
  readonly decision: number
  /** Microseconds of a signed request with a known certificate through the gateway, with the service switched off. */
  readonly request: number
  /** Microseconds of one Ed25519 verification by node:crypto. */
  readonly verification: number
  /** Microseconds of a delegate's request through the gateway: with a known chain of one hop, and with new ones of 1, 2 and 3. */
  readonly chains: { readonly known: number; readonly unknown: readonly number[] }
}

const DECISION_MICROSECONDS = 50
const RATIO_TO_VERIFICATION = 0.7
/** Of a signed request with a certificate. */
const RATIO_OF_KNOWN_CHAIN = 0.95
/** How many verifications a request with a new chain may cost, by its hops. */
const VERIFICATIONS = [3, 4, 6]
/** Of the time of a suspension. */
const RATIO_OF_END = 1.1

const SCRIPT = import.meta.resolve('./offline.ts')
/** For each second of a measurement. */
const DECISIONS_PER_SECOND = 4_000
const DEADLINE_SECONDS = 7200

/** Measures the gateway's offline mode: the service in one process, 100 gateways in another, both on any core. */
export function measureOffline(
  { scope, machine, say }: Bench,
  { gatewayRevocations: revocations, seconds }: Options,
): Promise<OfflineDecisions> {
  say('decisions by certificates')
  const task: OfflineTask = { revocations, decisions: seconds * DECISIONS_PER_SECOND }
  const limit = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, limit, SCRIPT, task, 'all') as Promise<OfflineDecisions>
}

export function offlineLines(offline: OfflineDecisions): string[] {
  const { arrivals, chains, decision, ends, request, verification } = offline
  const known = request / chains.known
  const met = (isMet: boolean) => (isMet ? 'yes' : 'no')
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
    `a delegate's request with a known chain of one hop: ${count(1e6 / chains.known)}/s; ${ratio(known)} of that; ` +
      `aim: >= ${RATIO_OF_KNOWN_CHAIN}: ${met(known >= RATIO_OF_KNOWN_CHAIN)}`,
    ...chains.unknown.map((each, i) => {
      const most = VERIFICATIONS[i] ?? 0
      return (
        `a delegate's request with a new chain, hops: ${i + 1}: ${ratio(each / verification)} verifications by node:crypto; ` +
        `aim: <= ${most}: ${met(each <= most * verification)}`
      )
    }),
    ...(['p50', 'p99'] as const).map((name) => {
      const [end, suspension] = [ends.end[name], ends.suspension[name]]
      return (
        `end of all delegations to refusal through the feed, 1 gateway: ${name} ${milliseconds(end)}, ` +
        `${ratio(end / suspension)} of a suspension (${milliseconds(suspension)}; ${count(ends.count)} each); ` +
        `aim: <= ${RATIO_OF_END}: ${met(end <= RATIO_OF_END * suspension)}`
      )
    }),
  ]
}
