import type { LoadShedder } from '../limits/concurrency-limiter.ts'
import type { RateLimiter } from '../limits/rate-limiter.ts'
import type { WriteMetrics } from './write-metrics.ts'

/** The service's own measurements, read on each scrape. */
export interface Gauges {
  /** Labels of `countersign_build_info`, whose value is always 1. */
  readonly build: Readonly<Record<'version' | 'node' | 'database', string>>
  readonly phase: () => Phase
  readonly readModel: () => ReadModelStats
  /** Seconds since 1970, by the clock that decides what has expired. */
  readonly clock: () => number
  /** Free bytes on the disk that holds the data. */
  readonly freeBytes: () => Promise<number>
  readonly database: () => Promise<DatabaseStats>
  /** Connections for reading; null if the data is in a file. */
  readonly connections: () => ConnectionStats | null
  readonly writes: WriteMetrics
  /** Writes requested but not done. */
  readonly waitingWrites: () => number
  readonly loadShedder: Pick<LoadShedder, 'rejected' | 'active'>
  /** Null if rate limits are off. */
  readonly rateLimiter: Pick<RateLimiter, 'rejected' | 'isShared'> | null
  /** The number of due jobs. */
  readonly jobsDue: () => Promise<number>
  /** Seconds since the oldest due job was due. */
  readonly jobsLate: () => Promise<number>
  /** Finished periodic channel checks, by outcome. */
  readonly channelChecks: () => ReadonlyMap<string, number>
  /** Seconds since the oldest due channel check was due. */
  readonly channelChecksLate: () => Promise<number>
  /** Seconds since the state of the newest signed head of the status feed. */
  readonly statusAgeSeconds: () => number
  /** Open streams of the status feed. */
  readonly feedSubscribers: () => number
  /** Null if the service sends no e-mail. */
  readonly emails: {
    /** Attempts to send an e-mail, by outcome. */
    readonly outcomes: () => ReadonlyMap<string, number>
    /** E-mails that are not sent yet. */
    readonly queued: () => Promise<number>
    /** Seconds since the oldest of them was queued; 0 if there is none. */
    readonly oldest: () => Promise<number>
  } | null
  readonly transparencyLog: {
    /** Entries under the checkpoint that is served. */
    readonly size: () => number
    /** Changes that could have their place in the log. */
    readonly waiting: () => Promise<number>
    /** Whether the log is neither signed nor served. */
    readonly isHalted: () => boolean
    /** Null if the log has no witnesses. */
    readonly witnesses: {
      readonly reports: () => readonly WitnessStats[]
      /** How long a signed checkpoint has been waiting for the quorum; 0: none waits. */
      readonly waitingSeconds: () => number
    } | null
  }
}

export interface WitnessStats {
  readonly name: string
  /** Entries that it has not cosigned. */
  readonly lag: number
  /** How often it has failed since it has cosigned last. */
  readonly failures: number
  /** Null: it does not refuse the log. */
  readonly problem: string | null
}

type Phase = 'starting' | 'ready' | 'draining'

interface DatabaseStats {
  readonly role: 'file' | 'primary' | 'unreachable'
  readonly commits: {
    /** Where an acknowledged write is known to be. */
    readonly waitFor: 'disk' | 'standby' | 'unknown'
    /** Whether what commits wait for is connected; null if the database user may not see it. */
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
  /** The sequence number of the last applied event. */
  readonly position: number
  /** Seconds since the read model was last known to be in sync with the database. */
  readonly secondsStale: number
  /** Whether lookups are answered; false while the read model is staler than `MAX_STALENESS`. */
  readonly isFresh: boolean
}
