/** What a worker says to its primary. Their channel keeps the order. */
export type FromWorker =
  /** It listens at an address, and its read model is complete. */
  | { readonly kind: 'ready'; readonly address: string }
  /** It could not start, or not stop: in the words and with the exit code of a service without workers. */
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  /** Its event loop turns. Said every `ALIVE_MS` from when it is ready. */
  | { readonly kind: 'alive' }
  /** Its listeners and its database are closed. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'ask-turn' }
  | { readonly kind: 'end-turn'; readonly hasWritten: boolean }
  /** The text of `/metrics`. */
  | { readonly kind: 'metrics'; readonly text: string }
  | { readonly kind: 'ask-provider'; readonly id: string }

/** What the primary says to a worker. */
export type ToWorker =
  /** From now on it may call itself ready. */
  | { readonly kind: 'all-ready' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'turn' }
  /** Another worker has committed. */
  | { readonly kind: 'written' }
  | { readonly kind: 'ask-metrics' }
  | ({ readonly kind: 'provider'; readonly id: string } & RunsAt)
  | { readonly kind: 'no-provider'; readonly id: string; readonly message: string }

/** A provider for development that runs in the primary. */
export interface RunsAt {
  readonly issuer: string
  readonly clientSecret: string
}

export const ALIVE_MS = 2000

/** What the environment of a worker says: its number, from 1, and whether the others serve already. */
export const NUMBER = 'COUNTERSIGN_WORKER'
export const OTHERS_SERVE = 'COUNTERSIGN_OTHERS_SERVE'
