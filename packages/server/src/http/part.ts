import type { LogReport, WitnessReport } from '@countersign/protocol'
import type { Logger } from 'pino'
import type { Settings } from '../base/config.ts'
import type { JobHandlers } from '../database/jobs/run-jobs.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import type { Ed25519Verifier } from '../secrets/ed25519.ts'
import type { RouteInfo } from './limits/route-info.ts'
import type { MetricRegistrar } from './metrics/metric-registrar.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import type { Sender } from './outbound/open-sender.ts'
import type { AheadOfRouter, App } from './server.ts'

/** How often most timers look for due work. */
export const WORK_MS = 1000

/** What every part may use to open. */
export interface PartDeps extends CoreDeps {
  readonly settings: Settings
  readonly log: Logger
  readonly ed25519: Ed25519Verifier
  readonly sender: Sender
  readonly metrics: RequestMetrics
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
  /** False while the service starts and shuts down. */
  readonly isReady: () => boolean
  /** Receives what closes after the listeners. */
  readonly resources: AsyncDisposableStack
}

/** What a capability hands to the service, which registers, runs and closes it. */
export interface Part {
  /** Registers routes that need no owner. */
  readonly routes?: (app: App) => void | Promise<void>
  /** Answer plain requests of a route before the router, unless they are limited or logged. */
  readonly ahead?: readonly { readonly route: RouteInfo; open(): AheadOfRouter }[]
  readonly gauges?: (metrics: MetricRegistrar) => void
  /** Handlers by kind of job. Each kind belongs to one part. */
  readonly jobs?: JobHandlers
  readonly timers?: readonly PartTimer[]
  /** Its members of `/readyz`. Must not wait. */
  readonly readiness?: () => Partial<PartReadiness>
  /** Ends work in progress that uses the network, before the listeners and the network close. */
  readonly close?: () => Promise<void>
}

/** Work at an interval, one run at a time. A run that takes longer delays only itself. */
export interface PartTimer {
  readonly everyMs: number
  /** @param stopping aborts when the service stops, which waits for the run */
  run(stopping: AbortSignal): Promise<void>
  /** Logged with the error of a failed run. */
  readonly failure: string
}

interface PartReadiness {
  readonly log: LogReport
  readonly witness: WitnessReport
}
