import type { Overload } from '../limits/concurrency.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { WriteMetrics } from './write-metrics.ts'

/** Figures of the service's own, read when somebody scrapes. */
export interface Gauges {
  /** What runs: labels of a metric that is always 1. */
  readonly build: Readonly<Record<'version' | 'node' | 'database', string>>
  readonly phase: () => Phase
  readonly readModel: () => ReadModelStats
  /** Seconds since 1970, by the clock that expiries are held against. */
  readonly clock: () => number
  /** What is free where the data are. */
  readonly freeBytes: () => Promise<number>
  readonly database: () => Promise<DatabaseStats>
  /** Connections for reading; null where the data are in a file. */
  readonly connections: () => ConnectionStats | null
  readonly writes: WriteMetrics
  /** How many writes have been asked for and not answered. */
  readonly waitingWrites: () => number
  readonly overload: Pick<Overload, 'refused' | 'inside'>
  /** Null where rates are not limited. */
  readonly limiter: Pick<Limiter, 'refused' | 'isShared'> | null
  /** How many jobs are due, and by how many seconds the one is late that has been due longest. */
  readonly jobsDue: () => Promise<number>
  readonly jobsLate: () => Promise<number>
  /** How many checks of channels, of those that the service makes by itself, have ended how. */
  readonly channelChecks: () => ReadonlyMap<string, number>
  /** By how many seconds the channel is late that has been due longest. */
  readonly channelChecksLate: () => Promise<number>
}

type Phase = 'starting' | 'ready' | 'draining'

interface DatabaseStats {
  readonly role: 'file' | 'primary' | 'unreachable'
  readonly commits: {
    /** What an acknowledged write is known to be on. */
    readonly waitFor: 'disk' | 'standby' | 'unknown'
    /** Whether what they wait for is there. */
    readonly satisfied: boolean | null
  }
  readonly standbys: readonly StandbyStats[]
}

interface StandbyStats {
  readonly name: string
  readonly state: string
  readonly sync: string
  readonly lagBytes: number | null
  readonly lagMs: number | null
}

interface ConnectionStats {
  readonly busy: number
  readonly idle: number
  /** Reads that wait for a connection. */
  readonly waiting: number
}

interface ReadModelStats {
  readonly agents: number
  /** The number of the last event that shows in answers. */
  readonly position: number
  /** For how long the database has not been heard of. */
  readonly secondsStale: number
  /** Whether lookups are answered: not while the events cannot be followed. */
  readonly vouches: boolean
}
