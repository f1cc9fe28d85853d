import type { Perspective } from './perspective.ts'

export interface OutsideSettings {
  /** DNS servers by address, with a port where it is not 53: each is a perspective. */
  readonly dnsResolvers: readonly string[]
  /** Development only: hosts that may be on loopback, and the port there in the place of 443. */
  readonly loopbackHosts: ReadonlyMap<string, number>
}

export interface Perspectives {
  readonly all: readonly Perspective[]
  close(): Promise<void>
}

/** The views of the outside world that the settings ask for. */
export function openPerspectives(_settings: OutsideSettings): Perspectives {
  return { all: [], close: async () => undefined }
}
