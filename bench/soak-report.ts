import type { SoakResult, SoakSample } from './soak.ts'
import type { RequestStats } from './soak-load.ts'
import type { Slope } from './statistics.ts'
import { count, mib, milliseconds, tableOf } from './table.ts'

/** Prints the results of a soak for people. */
export function soakLines(soaked: SoakResult): string[] {
  const { samples, seconds, warmUpSeconds, residentSlope, heapSlope } = soaked
  const warm = samples.filter((sample) => sample.seconds > warmUpSeconds)
  return [
    `soak of ${seconds.toFixed(0)} s on one process`,
    '',
    ...latencies(soaked),
    '',
    `${count(soaked.claims)} agents claimed meanwhile, which memory holds; ` +
      `${count(soaked.leftOut)} requests left out because too much was in flight`,
    `memory (RSS): first ${mibAt(samples[0], 'resident')}, after the warm-up ${mibAt(warm[0], 'resident')}, ` +
      `last ${mibAt(samples.at(-1), 'resident')} MiB; ${slopeText(residentSlope)}`,
    `heap in use: first ${mibAt(samples[0], 'heap')}, after the warm-up ${mibAt(warm[0], 'heap')}, ` +
      `last ${mibAt(samples.at(-1), 'heap')} MiB; ${slopeText(heapSlope)}`,
    `slopes: by least squares over ${warm.length} samples after a warm-up of ${warmUpSeconds.toFixed(0)} s`,
    `event loop, p99 of its delay: ${delays(warm)}`,
    soaked.errors === 0
      ? 'errors: none (aim: none, met)'
      : `errors: ${count(soaked.errors)} (aim: none, not met), first: ${soaked.firstError}`,
  ]
}

const COLUMNS = [
  { head: '', isText: true },
  ...['done', 'errors', 'p50', 'p99', 'longest'].map((head) => ({ head, isText: false })),
]

function latencies({ asked }: SoakResult): string[] {
  const rows = Object.entries(asked).map(([kind, each]: [string, RequestStats]) => [
    kind,
    count(each.count),
    count(each.errors),
    ...[each.p50, each.p99, each.longest].map(milliseconds),
  ])
  return tableOf(COLUMNS, rows)
}

function mibAt(sample: SoakSample | undefined, of: 'resident' | 'heap'): string {
  return mib(sample?.[of] ?? null)
}

function slopeText(found: Slope | null): string {
  if (found === null) return 'too few samples for a slope'
  const [slope, error] = [found.slope, found.error].map((bytes) => (bytes / 2 ** 20).toFixed(1))
  return `${slope} MiB/hour (standard error ${error})`
}

function delays(samples: readonly SoakSample[]): string {
  const known = samples.map(({ delay }) => delay).filter((delay) => delay !== null)
  if (known.length === 0) return 'not known'
  const mean = known.reduce((sum, each) => sum + each, 0) / known.length
  return `mean ${milliseconds(mean)}, highest ${milliseconds(Math.max(...known))}`
}
