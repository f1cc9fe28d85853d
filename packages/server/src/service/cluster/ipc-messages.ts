/** Messages from a worker to its primary, over the IPC channel of node:cluster, which keeps their order. */
export type FromWorker =
  /** It listens at `address`, and its read model is loaded. */
  | { readonly kind: 'ready'; readonly address: string }
  /** It could not start or stop. Message and exit code are those of a service without workers. */
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  /** Its event loop turns. Sent every `HEARTBEAT_MS` once it is ready. */
  | { readonly kind: 'heartbeat' }
  /** Its listeners and its database are closed. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'acquire-write' }
  | { readonly kind: 'release-write'; readonly hasWritten: boolean }
  /** The reply to `get-metrics`, in the Prometheus text format. */
  | { readonly kind: 'metrics'; readonly text: string }
  | { readonly kind: 'start-provider'; readonly id: string }

/** Messages from the primary to a worker. */
export type ToWorker =
  /** All workers are ready: it may report readiness. */
  | { readonly kind: 'all-ready' }
  | { readonly kind: 'stop' }
  /** It may write until it sends `release-write`. */
  | { readonly kind: 'write-granted' }
  /** Another worker has committed. */
  | { readonly kind: 'written' }
  | { readonly kind: 'get-metrics' }
  | ({ readonly kind: 'provider-started'; readonly id: string } & ProviderEndpoint)
  | { readonly kind: 'provider-failed'; readonly id: string; readonly message: string }

/** A development identity provider that runs in the primary. */
export interface ProviderEndpoint {
  readonly issuer: string
  readonly clientSecret: string
}

export const HEARTBEAT_MS = 2000

/** Environment variable of a worker: its number, from 1. */
export const WORKER_NUMBER = 'COUNTERSIGN_WORKER'
/** Environment variable of a worker: set if it replaces one that ended. */
export const IS_REPLACEMENT = 'COUNTERSIGN_REPLACEMENT_WORKER'
