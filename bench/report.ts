import type { Footprint } from './footprint.ts'
import type { Machine } from './machine.ts'
import { type Approvals, approvalLines } from './measure-approvals.ts'
import { type Enrolments, enrolmentLines } from './measure-enrolment.ts'
import { type Events, eventLines } from './measure-events.ts'
import { type FollowerLoad, followerLines } from './measure-followers.ts'
import type { KeyOperations } from './measure-keys.ts'
import { type OfflineDecisions, offlineLines } from './measure-offline.ts'
import { type Organisations, organisationLines } from './measure-organisations.ts'
import type { NonceMemory } from './measure-proof.ts'
import { type Reports, reportLines } from './measure-reports.ts'
import type { Revocations } from './measure-revocations.ts'
import { type Signing, signingLine } from './measure-signing.ts'
import { notesFor } from './notes.ts'
import type { Options } from './options.ts'
import type { Measurement } from './rounds.ts'
import type { Aim } from './scenarios.ts'
import { count, mib, milliseconds, ratio, tableOf } from './table.ts'

/** The results. */
export interface Results {
  readonly measurements: readonly Measurement[]
  readonly revocations: readonly Revocations[]
  readonly keys: KeyOperations | null
  readonly nonces: NonceMemory | null
  readonly signing: Signing | null
  readonly organisations: Organisations | null
  readonly enrolment: Enrolments | null
  readonly approvals: Approvals | null
  readonly reports: Reports | null
  readonly events: Events | null
  readonly offline: OfflineDecisions | null
  readonly followers: readonly FollowerLoad[] | null
  readonly footprint: Footprint | null
}

export interface SeedReport {
  readonly path: string
  /** Seconds that seeding took, or null if the seed already existed. */
  readonly seconds: number | null
}

/** All results: the document that `--json` prints. */
export interface Report extends Results {
  readonly options: Pick<
    Options,
    'agents' | 'seconds' | 'connections' | 'claimConnections' | 'rounds'
  >
  readonly machine: Machine
  /** The database that countersign used, and its settings. */
  readonly database: string
  /** The settings of countersignd that differ from the defaults because of the number of agents. */
  readonly settings: Readonly<Record<string, string>>
  /** Failed requests under load. Any failure stops the bench. */
  readonly errors: 0
  readonly seeds: readonly SeedReport[]
}

/** Prints the report for people. */
export function reportText(report: Report): string {
  const { followers, footprint, keys, measurements, nonces, offline, revocations } = report
  const { approvals, enrolment, events, organisations, reports, seeds, signing } = report
  return [
    headline(report),
    '',
    ...(measurements.length === 0 ? [] : [...measurementLines(measurements), '']),
    ...(revocations.length === 0 ? [] : [...revocations.map(revocationLine), '']),
    ...(keys === null ? [] : [...keyLines(keys), '']),
    ...(nonces === null ? [] : [nonceLine(nonces), '']),
    ...(signing === null ? [] : [signingLine(signing), '']),
    ...(organisations === null ? [] : [...organisationLines(organisations), '']),
    ...(enrolment === null ? [] : [...enrolmentLines(enrolment), '']),
    ...(approvals === null ? [] : [...approvalLines(approvals), '']),
    ...(reports === null ? [] : [...reportLines(reports), '']),
    ...(events === null ? [] : [...eventLines(events), '']),
    ...(offline === null ? [] : [...offlineLines(offline), '']),
    ...(followers === null ? [] : [...followerLines(followers), '']),
    ...(footprint === null ? [] : [...footprintLines(footprint), '']),
    `database: ${report.database}`,
    ...Object.entries(report.settings).map(([name, value]) => `setting: ${name}=${value}`),
    machineLine(report.machine),
    ...seeds.map(seedLine),
    ...notesFor(report),
  ].join('\n')
}

function headline({ options, measurements }: Report): string {
  const { agents, connections, claimConnections, rounds, seconds } = options
  if (measurements.length === 0) return `${count(agents)} agents`
  const claims = claimConnections === connections ? '' : ` (claims: ${claimConnections})`
  return (
    `${count(agents)} agents, ${connections} connections${claims}, ` +
    `${rounds} rounds of ${seconds} s each, medians of the rounds`
  )
}

const COLUMNS = [
  { head: '', isText: true },
  { head: 'countersign/s', isText: false },
  { head: 'ceiling/s', isText: false },
  { head: 'of ceiling', isText: false },
  { head: 'by CPU time', isText: false },
  { head: 'naive/s', isText: false },
  { head: 'of naive', isText: false },
  { head: 'one process/s', isText: false },
  { head: 'of one', isText: false },
  { head: 'before/s', isText: false },
  { head: 'of before', isText: false },
  { head: 'by CPU time', isText: false },
  { head: 'aim', isText: true },
  { head: 'met?', isText: true },
]

function measurementLines(measurements: readonly Measurement[]): string[] {
  const rows = measurements.map(({ title, perSecond, aims, ...ratios }) => [
    title,
    count(perSecond.countersign),
    count(perSecond.ceiling),
    ratio(ratios.ratioToCeiling),
    ratio(ratios.byCpu.ratioToCeiling),
    count(perSecond.naive),
    ratio(ratios.ratioToNaive),
    count(perSecond.one),
    ratio(ratios.ratioToOne),
    count(perSecond.before),
    ratio(ratios.ratioToBefore),
    ratio(ratios.byCpu.ratioToBefore ?? ratios.byCpu.ratioToOne),
    aims.map(aimText).join(', ') || '-',
    aims.map(({ met }) => yesOrNo(met)).join(', ') || '-',
  ])
  return tableOf(COLUMNS, rows)
}

function aimText({ of, atLeast }: Aim): string {
  if (of === 'perSecond') return `>= ${count(atLeast)}/s`
  if (of === 'ceiling') return `>= ${ratio(atLeast)} of ceiling`
  if (of === 'ceilingByCpu') return `>= ${ratio(atLeast)} of ceiling, by CPU time`
  if (of === 'oneByCpu') return `>= ${atLeast} times one, by CPU time`
  return `>= ${atLeast} times ${of}`
}

function yesOrNo(met: boolean): string {
  return met ? 'yes' : 'no'
}

function revocationLine(revocations: Revocations): string {
  const { by, processes, underLoad, count: timed, sinceAsked, sinceAnswered } = revocations
  const { met, most } = revocations.aim
  const text = ({ p50, p99, longest }: typeof sinceAsked) =>
    `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, longest ${milliseconds(longest)}`
  return (
    `revocation to refusal, ${processes} ${by}, ${underLoad ? 'under lookups' : 'idle'}: ${text(sinceAsked)} ` +
    `since it was asked for; ${text(sinceAnswered)} since it was answered (${timed} revocations); ` +
    `aim: longest <= ${most} ms since it was answered: ${yesOrNo(met)}`
  )
}

/** What the history of keys may take of the memory, on average over all agents. */
const KEY_BYTES = 8

function keyLines({ inFlight, rates, refusal, memory }: KeyOperations): string[] {
  const { by, rotations, times } = refusal
  return [
    ...rates.map(
      ({ operation, count: made, perSecond }) =>
        `${operation}: ${count(perSecond)}/s (${count(made)}, ${inFlight} in flight)`,
    ),
    `old key refused by two ${by}, since the response to the rotation: p50 ${milliseconds(times.p50)}, ` +
      `p99 ${milliseconds(times.p99)}, longest ${milliseconds(times.longest)} (${rotations} rotations)`,
    `memory of the read model: ${memory.replaced.toFixed(0)} bytes more for an agent whose key was replaced, none for others ` +
      `(${count(memory.agents)} agents); aim: <= ${KEY_BYTES} bytes on average: met while ` +
      `${((100 * KEY_BYTES) / memory.replaced).toFixed(1)} % of the agents have replaced their key`,
  ]
}

function nonceLine({ entries, bytes }: NonceMemory): string {
  const each = (bytes / entries).toFixed(0)
  return `nonces in memory: ${count(entries)} take ${mib(bytes)} MiB, ${each} bytes each`
}

function footprintLines(footprint: Footprint): string[] {
  const { startUp, memory, memoryOfOneAgent, bytesPerAgent, aims, before } = footprint
  const perAgent =
    bytesPerAgent.afterLoad === null || bytesPerAgent.atRest === null
      ? 'too few agents to tell what one takes'
      : `${bytesPerAgent.atRest.toFixed(0)} and ${bytesPerAgent.afterLoad.toFixed(0)} bytes an agent`
  return [
    `start-up: ready after ${startUp.readyMs.toFixed(0)} ms, first lookup answered after ` +
      `${startUp.firstLookupMs.toFixed(0)} ms (median of ${startUp.starts})`,
    `memory, at rest and after load: ${mib(memory.atRest)} and ${mib(memory.afterLoad)} MiB; with one agent ` +
      `${mib(memoryOfOneAgent.atRest)} and ${mib(memoryOfOneAgent.afterLoad)} MiB; ${perAgent}`,
    ...(before === null
      ? []
      : [
          `before: ready after ${before.startUp.readyMs.toFixed(0)} ms, first lookup answered after ` +
            `${before.startUp.firstLookupMs.toFixed(0)} ms; memory ${mib(before.memory.atRest)} and ` +
            `${mib(before.memory.afterLoad)} MiB`,
        ]),
    ...(aims.length === 0
      ? []
      : [`aims: ${aims.map(({ text, met }) => `${text}: ${yesOrNo(met)}`).join('; ')}`]),
  ]
}

function machineLine(machine: Machine): string {
  const { cpu, cores, node, generator, pinned, syncsPerSecond } = machine
  const pinning =
    pinned === null
      ? 'not pinned'
      : `server on core ${pinned.server}, load and PostgreSQL on core ${pinned.load}, several processes on ${pinned.all}`
  return (
    `machine: ${cpu}, ${cores} cores (${pinning}), Node ${node}, load by ${generator} ` +
    `(claims: load-claims.ts), ${count(syncsPerSecond)} lone fdatasync/s`
  )
}

function seedLine({ path, seconds }: SeedReport): string {
  return `seed: ${path} (${seconds === null ? 'found' : `made in ${seconds.toFixed(1)} s`})`
}
