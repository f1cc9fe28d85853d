import {
  constants,
  createHash,
  createPrivateKey,
  type KeyObject,
  privateEncrypt,
  sign,
} from 'node:crypto'
import { p256, p384, p521 } from '@noble/curves/nist.js'

/** A key of a platform whose signatures are the same each time, so that the file of vectors does not change. */
export interface PlatformKey {
  /** Its public members (RFC 7517), without `kid`. */
  readonly jwk: Readonly<Record<string, unknown>>
  sign(alg: string, message: Uint8Array): Uint8Array
}

const HASHES: Readonly<Record<string, string>> = { 256: 'sha256', 384: 'sha384', 512: 'sha512' }
const base64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const numberOf = (text: string) => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)

function textOf(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

/** The inverse of `a` modulo `m`, by the extended Euclidean algorithm. */
function inverse(a: bigint, m: bigint): bigint {
  let [r, next, s, t] = [m, a % m, 0n, 1n]
  while (next !== 0n) {
    const q = r / next
    ;[r, next, s, t] = [next, r - q * next, t, s - q * t]
  }
  return ((s % m) + m) % m
}

/** An RSA key by its two primes, in base64url. */
function rsaKey(p: string, q: string): PlatformKey {
  const [first, second] = [numberOf(p), numberOf(q)]
  const d = inverse(65_537n, (first - 1n) * (second - 1n))
  const jwk = { kty: 'RSA', n: textOf(first * second), e: 'AQAB' }
  const members = {
    ...jwk,
    d: textOf(d),
    p,
    q,
    dp: textOf(d % (first - 1n)),
    dq: textOf(d % (second - 1n)),
    qi: textOf(inverse(second, first)),
  }
  const key = createPrivateKey({ key: members, format: 'jwk' })
  return {
    jwk,
    sign: (alg, message) => {
      const hash = HASHES[alg.slice(2)] ?? 'sha256'
      return alg.startsWith('PS') ? signPss(key, hash, message) : sign(hash, message, key)
    },
  }
}

/** EMSA-PSS (RFC 8017 section 9.1.1) for 2,048 bits, with the bytes 00, 01, … as its salt instead of random ones. */
function signPss(key: KeyObject, hash: string, message: Uint8Array): Uint8Array {
  const digest = (...parts: Uint8Array[]) => createHash(hash).update(Buffer.concat(parts)).digest()
  const hashed = digest(message)
  const salt = Uint8Array.from(hashed, (_, i) => i)
  const h = digest(new Uint8Array(8), hashed, salt)
  const masked = new Uint8Array(256 - h.length - 1)
  masked.set(salt, masked.length - salt.length)
  masked[masked.length - salt.length - 1] = 1
  for (let i = 0, counter = 0; i < masked.length; counter++) {
    for (const byte of digest(h, Uint8Array.of(0, 0, 0, counter))) {
      if (i < masked.length) masked[i] = (masked[i++] as number) ^ byte
    }
  }
  masked[0] = (masked[0] as number) & 0x7f
  const encoded = Buffer.concat([masked, h, Uint8Array.of(0xbc)])
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, encoded)
}

const CURVES = { 'P-256': p256, 'P-384': p384, 'P-521': p521 } as const

/** An EC key by its secret, in hexadecimal, with the deterministic signatures of RFC 6979. */
function ecKey(crv: keyof typeof CURVES, secretHex: string): PlatformKey {
  const curve = CURVES[crv]
  const secret = Buffer.from(secretHex, 'hex')
  const point = curve.getPublicKey(secret, false)
  const size = (point.length - 1) / 2
  const [x, y] = [point.slice(1, 1 + size), point.slice(1 + size)].map(base64Url)
  return {
    jwk: { kty: 'EC', crv, x, y },
    sign: (_alg, message) => curve.sign(message, secret, { lowS: true }),
  }
}

/** The other signature of the same message that anybody can make of one by P-256: n - s for s. */
export function otherSignature(signature: Uint8Array): Uint8Array {
  const n = p256.Point.Fn.ORDER
  const s = BigInt(`0x${Buffer.from(signature.slice(32)).toString('hex')}`)
  const other = Buffer.from((n - s).toString(16).padStart(64, '0'), 'hex')
  return Buffer.concat([signature.slice(0, 32), other])
}

export const RSA = rsaKey(
  '9nyl-_M-6CChbE_bz-Pve_s9Or4OfAuKiqSsNJpPc6vtfMDQXP1r5McB8UhfYJCeA__ZW5Ed7US43MofxP1xIPAzCtD8fB603jOfVCQA1MW_2SqaRkd2NiRr6-CqB64QxRLVFuB9ETJ75OyDJXZepX-4T1UB6PbqZJkL8J3UgP8',
  '1EkqnYND65Hjn-GMpzHx4wytdD1FsxKmSNlRoW88HqrYFdvY7ko-U1ZDdti78b9I9CHil4HiV7kl1IoRMn0J6m2imy-2NuahCOhpYB_N7jjjopE_tr95XFvZhCKmYqykBb0Eyh1DWsJ7trdBF5Xz6AZv3kYHpq55H7ccZbajZUc',
)
export const STRANGER = rsaKey(
  '3w2jiB0yo9510ANXNWW0YcNrsNtdVkYpxfpvG-9K9mCVuDzCZtkDsWeAhv3K-Yvi5DxazYkBMpB3nWfeO4Pfqq3ctozHCPEFseLwQ2H-evSnSKVKdsW4cdQTV4eWN5qujQ_huxnYXCBxPFweXe8zDiYfDzRwA13ZQwjk16C7jH0',
  'wBMousbARdZBbZCJLwfA9Rv-Lq3DpZMxfopO-1AqZnhYlIUxIOxl8-iAhHmJ4l4N1mzPmljnvZqxgfuGEFhlIwIOe1maufA5_1mJE52GtQ8s5EYAYziz3gz7V0161Zosrr0STylah3vVTmynsyOSU22bkRpHIiySzt1nNNnMXnU',
)
export const EC256 = ecKey('P-256', '02'.repeat(32))
export const EC384 = ecKey('P-384', '03'.repeat(48))
export const EC521 = ecKey('P-521', `00${'04'.repeat(65)}`)
/** 1,024 bits: too short to verify tokens. */
export const SHORT_RSA = {
  kty: 'RSA',
  n: 'nFSIIacK6pq0GAKa4KKtifPWLIsQq74T9tjREckrdriALXvbc7G54NZK8ZbhvG5fBhPquOn80Xa8uF_M9D5wuqlVUNIU69vGHPQl8AmMj1uFNBins2lTza2DZcGSf73vev4Gvwi9gjfMuhYSYnmxYLawgSZh-AV1lT8wpvUcTJ0',
  e: 'AQAB',
}
