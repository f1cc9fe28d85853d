import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyFault } from '@countersign/protocol'
import sodium from 'sodium-native'

/** A key, a message and a signature that may be none of it. */
interface Case {
  readonly key: Buffer
  readonly message: Buffer
  readonly signature: Buffer
}

/** Lines `key message signature` in hexadecimal, and for each `1` if libsodium accepts it for a key that can be certified, else `0`. */
export interface Corpus {
  readonly lines: readonly string[]
  readonly verdicts: string
}

const KEYS = 40
/** The order of the base point, little-endian. */
const L = Buffer.from('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010', 'hex')
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map((hex) => Buffer.from(hex, 'hex'))

/** What was published of signatures in which libraries differ, and mutated ones: the same with each call. @param count of mutated ones */
export function signatureCorpus(count: number): Corpus {
  const cases = [...published(), ...mutated(count)]
  const isGood = goodKeys()
  return {
    lines: cases.map(({ key, message, signature }) =>
      [key, message, signature].map((each) => each.toString('hex')).join(' '),
    ),
    verdicts: cases.map((each) => (isValid(each, isGood) ? '1' : '0')).join(''),
  }
}

/** Whether a key can be certified. That takes much longer than a verification, so each key is checked once. */
function goodKeys(): (key: Buffer) => boolean {
  const known = new Map<string, boolean>()
  return (key) => {
    const hex = key.toString('hex')
    const isGood = known.get(hex) ?? keyFault(key) === null
    known.set(hex, isGood)
    return isGood
  }
}

function isValid({ key, message, signature }: Case, isGood: (key: Buffer) => boolean): boolean {
  if (key.length !== 32 || signature.length !== 64 || !isGood(key)) return false
  return sodium.crypto_sign_verify_detached(signature, message, key)
}

function published(): Case[] {
  const file = join(import.meta.dirname, '../published-signatures.json')
  const sets: Record<string, string[]> = JSON.parse(readFileSync(file, 'utf8'))
  return Object.values(sets)
    .flat()
    .map((line) => {
      const [key, message, signature] = line.split(' ').map((hex) => Buffer.from(hex, 'hex'))
      return { key, message, signature } as Case
    })
}

function* mutated(count: number): Generator<Case> {
  const pairs = Array.from({ length: KEYS }, (_, i) => keyPair(i))
  for (let i = 0; i < count; i++) {
    const random = createHash('sha512').update(`case ${i}`).digest()
    const { publicKey, secretKey } = pairs[i % KEYS] as (typeof pairs)[number]
    const message = random.subarray(32, 32 + ((random[3] as number) % 32))
    const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
    sodium.crypto_sign_detached(signature, message, secretKey)
    yield mutate({ key: Buffer.from(publicKey), message: Buffer.from(message), signature }, random)
  }
}

function keyPair(i: number) {
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
  const seed = createHash('sha256').update(`key ${i}`).digest()
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed)
  return { publicKey, secretKey }
}

function mutate(valid: Case, random: Buffer): Case {
  const { key, message, signature } = valid
  const [kind = 0, at = 0, bit = 0, which = 0] = random.subarray(0, 4)
  const flip = (bytes: Buffer, from: number, length: number) => {
    const index = from + (at % length)
    bytes[index] = (bytes[index] as number) ^ (1 << (bit % 8))
  }
  switch (kind % 10) {
    case 0:
      return valid
    case 1:
      return { ...valid, message: Buffer.concat([message, Buffer.of(at)]) }
    case 2:
    case 3:
      flip(signature, 0, 32)
      return valid
    case 4:
    case 5:
      flip(signature, 32, 32)
      return valid
    case 6:
      flip(key, 0, 32)
      return valid
    case 7:
      return { ...valid, signature: plusOrder(signature, 1 + (at % 7)) }
    case 8:
      signature.set(SMALL_ORDER[which % SMALL_ORDER.length] as Buffer, 0)
      return valid
    default:
      // The sign of R.
      signature[31] = (signature[31] as number) ^ 0x80
      return valid
  }
}

/** Adds the order to S, which another equation would not notice. */
function plusOrder(signature: Buffer, times: number): Buffer {
  const changed = Buffer.from(signature)
  for (let n = 0; n < times; n++) {
    let carry = 0
    for (let i = 0; i < 32; i++) {
      const sum = (changed[32 + i] as number) + (L[i] as number) + carry
      changed[32 + i] = sum & 0xff
      carry = sum >> 8
    }
  }
  return changed
}
