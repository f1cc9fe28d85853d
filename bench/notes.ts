import type { Machine } from './machine.ts'
import { BUSY, type Measurement, wasHeldUp } from './rounds.ts'
import { ratio } from './table.ts'

/** Remarks for readers of the figures. */
export function notesFor({
  machine,
  measurements,
  database,
}: {
  readonly machine: Machine
  readonly measurements: readonly Measurement[]
  readonly database: string
}): string[] {
  const notes: string[] = []
  if (machine.pinningNote !== null) notes.push(machine.pinningNote)
  if (machine.diskIsMemory) notes.push('the databases lay in memory: claims were not durable')
  if (machine.generator === 'autocannon') {
    notes.push('autocannon is a slow generator: ratios near 1 may be its own limit')
  }
  if (measurements.some(({ perSecond }) => perSecond.naive !== null) && !isSqlite(database)) {
    notes.push('naive has its data in SQLite all the same')
  }
  if (measurements.some(({ name }) => name === 'claim' || name === 'claim-known')) {
    notes.push(
      'claims over HTTP are bound by one core: HTTP, Ed25519 and the client of the database',
    )
  }
  if (measurements.some(({ perSecond }) => perSecond.one !== null)) {
    notes.push(
      'one and several processes share all cores with the load, which takes its part of them',
    )
  }
  return [...notes.map((note) => `note: ${note}`), ...disturbances(measurements)]
}

function isSqlite(database: string): boolean {
  return database.startsWith('SQLite')
}

function disturbances(measurements: readonly Measurement[]): string[] {
  const disturbed = measurements.filter(({ rounds }) => rounds.some(wasHeldUp))
  if (disturbed.length === 0) return []
  return [
    `note: a server had less than ${BUSY} of its core in a round of these; ratios of ceiling and of naive:`,
    ...disturbed.map(({ title, best, byCpu }) => {
      const { countersign } = best
      const bests = [best.ceiling, best.naive].map((each) =>
        ratio(each && countersign && countersign / each),
      )
      const byTime = [byCpu.ratioToCeiling, byCpu.ratioToNaive].map(ratio)
      return `  ${title}: ${byTime.join(' and ')} by processor time, ${bests.join(' and ')} best to best`
    }),
  ]
}
