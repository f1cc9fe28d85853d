/** The parts of Node's modules that are used where this package also has to load without them. */
interface NodeModules {
  readonly 'node:cluster': { readonly isWorker: boolean }
  readonly 'node:crypto': {
    createPublicKey(key: NodeKeyObject | object): NodeKeyObject
    createPrivateKey(key: object): NodeKeyObject
    verify(algorithm: null, data: Uint8Array, key: NodeKeyObject, signature: Uint8Array): boolean
    sign(algorithm: null, data: Uint8Array, key: NodeKeyObject): Uint8Array
  }
  readonly 'node:dns': {
    readonly promises: {
      lookup(host: string, options: { all: true }): Promise<readonly { address: string }[]>
    }
  }
  readonly 'node:http': {
    request(
      options: object,
      onResponse: (response: AsyncIterable<Uint8Array> & { readonly statusCode?: number }) => void,
    ): { once(event: 'error', listener: (error: Error) => void): unknown; end(): void }
  }
  readonly 'node:module': {
    createRequire(from: string): (name: 'sodium-native') => Sodium
  }
  readonly 'node:timers': { setImmediate(work: () => void): unknown }
  readonly 'node:worker_threads': { readonly isMainThread: boolean }
  readonly 'node:tls': { connect(options: object): TlsSocket }
}

/** A `KeyObject` of node:crypto. */
interface NodeKeyObject {
  export(options: object): Uint8Array
}

/** The part of the package sodium-native that is used here. */
interface Sodium {
  crypto_sign_verify_detached(
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ): boolean
}

/** A `TLSSocket` of node:tls. */
export interface TlsSocket {
  once(event: 'secureConnect', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): void
}

/** Returns a module of Node. */
export type NodeBuiltin = <K extends keyof NodeModules>(name: K) => NodeModules[K]

interface Runtime {
  readonly process?: {
    readonly versions?: Readonly<Record<string, string>>
    readonly getBuiltinModule?: NodeBuiltin
  }
  readonly navigator?: { readonly userAgent?: string }
}

const isCloudflareWorker = () =>
  (globalThis as Runtime).navigator?.userAgent === 'Cloudflare-Workers'

/** Node's modules, without an import that bundlers for Workers and browsers would follow. Null elsewhere, in Bun and Deno too. */
export function nodeBuiltin(): NodeBuiltin | null {
  const { process } = globalThis as Runtime
  const { node, bun, deno } = process?.versions ?? {}
  const isNode = node !== undefined && bun === undefined && deno === undefined
  return isNode && !isCloudflareWorker() ? (process?.getBuiltinModule ?? null) : null
}

/** Whether other processes are known to serve the same site: a worker of node:cluster, or an isolate of Cloudflare's Workers. */
export function isOneOfSeveral(): boolean {
  return isCloudflareWorker() || nodeBuiltin()?.('node:cluster').isWorker === true
}

/**
 * The age of this process, by a clock that nobody sets.
 * @returns null if it is not known, as outside Node, or in a thread: an earlier one of the same process may have ended
 */
export function millisecondsSinceStart(): (() => number) | null {
  if (nodeBuiltin()?.('node:worker_threads').isMainThread !== true) return null
  return performance.now.bind(performance)
}
