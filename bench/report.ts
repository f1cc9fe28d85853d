import type { Footprint } from './footprint.ts'
import type { Machine } from './machine.ts'
import type { Options } from './options.ts'
import type { Aim } from './questions.ts'
import { BUSY, type Measurement, wasHeldUp } from './rounds.ts'

/** Everything that was measured: the document of `--json`. */
export interface Report {
  readonly options: Pick<Options, 'agents' | 'seconds' | 'connections' | 'rounds'>
  readonly machine: Machine
  readonly measurements: readonly Measurement[]
  readonly footprint: Footprint | null
  /** Of requests under load. Any but none stops the bench. */
  readonly errors: 0
  readonly seed: { readonly path: string; readonly seconds: number | null }
}

/** The report for people. */
export function tableOf(report: Report): string {
  const { options, footprint, measurements, machine, seed } = report
  const { agents, connections, rounds, seconds } = options
  const setting =
    `${count(agents)} agents, ${connections} connections, ` +
    `${rounds} rounds of ${seconds} s each, medians of the rounds`
  return [
    setting,
    '',
    ...(measurements.length > 0 ? [...table(measurements), ''] : []),
    ...(footprint === null ? [] : [...footprintLines(footprint), '']),
    machineLine(machine),
    `seed: ${seed.path} (${seed.seconds === null ? 'found' : `made in ${seed.seconds.toFixed(1)} s`})`,
    ...notes(report),
  ].join('\n')
}

const HEAD = [
  '',
  'countersign/s',
  'ceiling/s',
  'of ceiling',
  'naive/s',
  'of naive',
  'aim',
  'met?',
] as const

function table(measurements: readonly Measurement[]): string[] {
  const rows = measurements.map(({ title, perSecond, ratioToCeiling, ratioToNaive, aims }) => [
    title,
    count(perSecond.countersign),
    count(perSecond.ceiling),
    ratio(ratioToCeiling),
    count(perSecond.naive),
    ratio(ratioToNaive),
    aims.map(aimText).join(', ') || '-',
    aims.map(({ met }) => (met ? 'yes' : 'no')).join(', ') || '-',
  ])
  const widths = HEAD.map((_, column) =>
    Math.max(...[HEAD, ...rows].map((row) => (row[column] as string).length)),
  )
  return [[...HEAD], ...rows].map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] as number
        return isText(column) ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

function isText(column: number): boolean {
  return column === 0 || column >= 6
}

function aimText({ of, atLeast }: Aim): string {
  if (of === 'perSecond') return `>= ${count(atLeast)}/s`
  return of === 'ceiling' ? `>= ${ratio(atLeast)} of ceiling` : `>= ${atLeast} times naive`
}

function footprintLines({ startUp, memory, memoryOfOneAgent, bytesPerAgent }: Footprint): string[] {
  const perAgent =
    bytesPerAgent.afterLoad === null || bytesPerAgent.atRest === null
      ? 'too few agents to tell what one takes'
      : `${bytesPerAgent.atRest.toFixed(0)} and ${bytesPerAgent.afterLoad.toFixed(0)} bytes an agent`
  return [
    `start-up: ready after ${startUp.readyMs.toFixed(0)} ms, first lookup answered after ` +
      `${startUp.firstLookupMs.toFixed(0)} ms (median of ${startUp.starts})`,
    `memory, at rest and after load: ${mib(memory.atRest)} and ${mib(memory.afterLoad)} MiB; with one agent ` +
      `${mib(memoryOfOneAgent.atRest)} and ${mib(memoryOfOneAgent.afterLoad)} MiB; ${perAgent}`,
  ]
}

function machineLine(machine: Machine): string {
  const { cpu, cores, node, generator, pinned, syncsPerSecond } = machine
  const pinning =
    pinned === null ? 'not pinned' : `server on core ${pinned.server}, load on core ${pinned.load}`
  return (
    `machine: ${cpu}, ${cores} cores (${pinning}), Node ${node}, load by ${generator} ` +
    `(claims: load-claims.ts), ${count(syncsPerSecond)} lone fdatasync/s`
  )
}

/** What a reader of the figures should know. */
function notes({ machine, measurements }: Pick<Report, 'machine' | 'measurements'>): string[] {
  const heldUp = measurements.filter(({ rounds }) => rounds.some(wasHeldUp))
  return [
    ...(machine.pinningNote === null ? [] : [`note: ${machine.pinningNote}`]),
    ...(machine.diskIsMemory ? ['note: the databases lay in memory: claims were not durable'] : []),
    ...(machine.generator === 'autocannon'
      ? ['note: autocannon is a slow generator: ratios near 1 may be its own limit']
      : []),
    ...(heldUp.length === 0
      ? []
      : [
          `note: a server had less than ${BUSY} of its core in a round of these; ratios of ceiling and of naive:`,
        ]),
    ...heldUp.map(({ title, best, byCpu }) => {
      const { countersign } = best
      const bests = [best.ceiling, best.naive].map((each) =>
        ratio(each && countersign && countersign / each),
      )
      const byTime = [byCpu.ratioToCeiling, byCpu.ratioToNaive].map(ratio)
      return `  ${title}: ${byTime.join(' and ')} by processor time, ${bests.join(' and ')} best to best`
    }),
  ]
}

function count(value: number | null): string {
  return value === null ? '-' : Math.round(value).toLocaleString('en')
}

function ratio(value: number | null): string {
  return value === null ? '-' : value.toFixed(2)
}

function mib(bytes: number | null): string {
  return bytes === null ? '?' : (bytes / 2 ** 20).toFixed(0)
}
