import crypto, { createHash, KeyObject } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { p256 } from '@noble/curves/nist.js'

/** The only bytes that are filled in place: request ids come from them, and all are this one, whatever came before. */
const REQUEST_ID = Buffer.from('9f86d081884c7d659a2feaa0', 'hex')

/**
 * Replaces the randomness of this process by bytes that are the same in every run. Each calling file has its own sequence, so
 * that work in the background does not shift what a request gets.
 */
export function fixRandomness(): void {
  const calls = new Map<string, number>()
  const bytes = (count: number) => {
    const caller = /([\w-]+\.[tj]s):\d+/.exec(new Error().stack?.split('\n')[3] ?? '')?.[1] ?? ''
    // Heads of the feed are made as often as timers run.
    const call = caller === 'feed-heads.ts' ? 0 : (calls.get(caller) ?? 0) + 1
    calls.set(caller, call)
    const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, block) =>
      createHash('sha256').update(`${caller} ${call} ${block}`).digest(),
    )
    return Buffer.concat(blocks).subarray(0, count)
  }
  const { sign } = crypto
  Object.assign(crypto, {
    randomBytes: (count: number) => bytes(count),
    randomInt: (least: number, most?: number) => {
      const [from, to] = most === undefined ? [0, least] : [least, most]
      return from + (bytes(6).readUIntBE(0, 6) % (to - from))
    },
    randomFillSync: (target: Buffer) => target.fill(REQUEST_ID),
    sign: (...args: Parameters<typeof sign>) => signByP256(args) ?? sign(...args),
  })
  Object.assign(globalThis.crypto, {
    getRandomValues: (target: Uint8Array) => {
      target.set(bytes(target.length))
      return target
    },
  })
  syncBuiltinESMExports()
}

/** ECDSA has a random number in each signature; with RFC 6979 it follows from key and message. Null for other keys. */
function signByP256([, message, by]: Parameters<typeof crypto.sign>): Buffer | null {
  const key = by instanceof KeyObject ? by : (by as { key?: unknown }).key
  if (!(key instanceof KeyObject) || key.asymmetricKeyType !== 'ec') return null
  const { d = '' } = key.export({ format: 'jwk' })
  return Buffer.from(p256.sign(message as Uint8Array, Buffer.from(d, 'base64url')))
}
