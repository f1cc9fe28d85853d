import { sha256 } from '@noble/hashes/sha2.js'
import { decodeKey, decodeSignature, encodeBase64, KEY_PATTERN, utf8 } from '../encoding.ts'
import type { Grade, Tier } from '../grade.ts'
import { keyOperationMessage } from '../key-operation.ts'
import type { Naming } from '../naming.ts'
import { keyThumbprint } from '../public-key.ts'
import type { AgentStatus } from '../status.ts'
import { canonicalJson, type JsonValue } from './canonical-json.ts'

/** An entry has fewer bytes. */
export const LOG_ENTRY_MAX_BYTES = 1024
/** Bytes of the random salt of a commitment. */
export const COMMITMENT_SALT_BYTES = 32

/** Who made a change. `agent`: by a signature of its key. */
export const LOG_ACTORS = ['agent', 'owner', 'operator', 'service'] as const
export type LogActor = (typeof LOG_ACTORS)[number]

/** A change of an agent's certificate, without what its place in the log adds. */
export type AgentChange =
  | { readonly type: 'claimed'; readonly grade: Grade }
  /** The state of an agent that was claimed before the log began. */
  | { readonly type: 'existing'; readonly status: AgentStatus; readonly grade: Grade }
  /** `reason`: a machine-readable word. */
  | { readonly type: 'status'; readonly status: AgentStatus; readonly reason: string | null }
  | KeyRotation
  /** `key` and `keySequence` of the entry are those of the current key, which stays until the recovery completes. */
  | { readonly type: 'key_recovery_started' | 'key_recovery_vetoed' }
  | { readonly type: 'key_recovered' }
  /** The owner reported the last rotation: as a mistake, then the key before it is current again; or as hostile, then the key stays and is burned. */
  | { readonly type: 'key_contested' }
  | {
      readonly type: 'channel_verified' | 'channel_lost'
      readonly kind: string
      readonly tier: Tier
    }
  | { readonly type: 'grade'; readonly grade: Grade }
  /** The agent moved to another owner. `grade`: what it is under that one. */
  | { readonly type: 'owner_changed'; readonly grade: Grade }

/** A rotation, with everything that both keys signed (`keyOperationMessage`); keys and signatures in base64. */
export interface KeyRotation {
  readonly type: 'key_rotated'
  /** The origin of the service, as it was signed. */
  readonly service: string
  readonly prevKey: string
  readonly newKey: string
  /** Unix seconds. */
  readonly issuedAt: number
  readonly oldSignature: string
  readonly newSignature: string
}

/** Which agent an entry is about, and its key after the change. */
export interface EntrySubject {
  readonly v: 1
  readonly did: string
  /** The leaf hash (base64) of the entry before this one about the same agent; null: this is the first. */
  readonly prev: string | null
  /** The JWK thumbprint of its current key (RFC 7638), base64url. */
  readonly key: string
  /** The number of this key among the agent's keys, from 1. */
  readonly keySequence: number
  readonly by: LogActor
  /** `commitmentTo` the evidence, base64. */
  readonly commitment: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** An entry about an agent. */
export type AgentEntry = EntrySubject & AgentChange

/** An entry about the log itself. */
export type LogStateEntry =
  /** From here on the log is complete: the agents that were claimed before, so many, have an entry of type `existing`. */
  | { readonly v: 1; readonly type: 'complete'; readonly agents: number; readonly at: number }
  /** The first entry of an epoch after another one, whose log stays served. `root` in base64. */
  | {
      readonly v: 1
      readonly type: 'epoch'
      readonly previous: { readonly origin: string; readonly size: number; readonly root: string }
      readonly at: number
    }

export type LogEntry = AgentEntry | LogStateEntry

/**
 * The bytes of an entry: canonical JSON (RFC 8785).
 * @throws RangeError if they are 1,024 or more
 */
export function formatLogEntry(entry: LogEntry): Uint8Array {
  const bytes = utf8(canonicalJson(entry as unknown as JsonValue))
  if (bytes.length >= LOG_ENTRY_MAX_BYTES) throw new RangeError('an entry is too long for the log')
  return bytes
}

/**
 * Parses an entry. Members and types that this release does not know are kept: `isAgentEntry` tells what an entry is.
 * @returns null if it is not canonical JSON, too long, of another version, or a member that all entries of its kind have is
 *   malformed
 */
export function parseLogEntry(bytes: Uint8Array): LogEntry | null {
  if (bytes.length >= LOG_ENTRY_MAX_BYTES) return null
  const entry = parseCanonical(bytes)
  return entry === null ? null : asLogEntry(entry)
}

/** The entry that members are. @returns null if they are of another version, or a member that all entries of their kind have is malformed */
export function asLogEntry(entry: Members): LogEntry | null {
  if (entry.v !== 1 || typeof entry.type !== 'string' || !isCount(entry.at)) return null
  if (!('did' in entry)) return entry as unknown as LogEntry
  const { did, prev, key, keySequence, by, commitment } = entry
  const isWellFormed =
    typeof did === 'string' &&
    (prev === null || isHash(prev)) &&
    typeof key === 'string' &&
    isCount(keySequence) &&
    LOG_ACTORS.includes(by as LogActor) &&
    isHash(commitment)
  return isWellFormed ? (entry as unknown as LogEntry) : null
}

/** Whether an entry is about an agent, and not about the log. */
export function isAgentEntry(entry: LogEntry): entry is AgentEntry {
  return 'did' in entry
}

/**
 * Types of entries that can make a key current. The entry of a key is the first one of such a type with its `keySequence`: that
 * is what a certificate points to. (`key_contested` keeps the key and its number if the owner reported a compromise.)
 */
export const KEY_ENTRY_TYPES: readonly LogEntry['type'][] = [
  'claimed',
  'existing',
  'key_rotated',
  'key_recovered',
  'key_contested',
]

/**
 * The commitment to the evidence of a change: base64 of SHA-256(`<shortName>-log-commitment-v1` ‖ salt ‖ canonical JSON of the
 * evidence). The salt makes it impossible to guess the evidence; anyone who has both can open the commitment.
 * @param salt 32 random bytes
 */
export function commitmentTo(
  { shortName }: Pick<Naming, 'shortName'>,
  salt: Uint8Array,
  evidence: JsonValue,
): string {
  if (salt.length !== COMMITMENT_SALT_BYTES) throw new RangeError('a salt has 32 bytes')
  const digest = sha256
    .create()
    .update(utf8(`${shortName}-log-commitment-v1`))
    .update(salt)
    .update(utf8(canonicalJson(evidence)))
    .digest()
  return encodeBase64(digest)
}

/** A signature that a rotation carries, decoded. */
export interface RotationSignature {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/**
 * The two signatures of a rotation, by the old and by the new key, for a strict verifier of Ed25519. Compare the old key with the
 * `key` of the agent's previous entry (`keyThumbprint`): the entry alone proves only that both keys signed.
 * @returns null if a member is malformed, or `key` is not the new key
 */
export function rotationSignatures(
  naming: Naming,
  entry: EntrySubject & KeyRotation,
): readonly [RotationSignature, RotationSignature] | null {
  const decodeText = <T>(decode: (text: string) => T, value: unknown) =>
    typeof value === 'string' ? decode(value) : null
  const oldKey = decodeText(decodeKey, entry.prevKey)
  const newKey = decodeText(decodeKey, entry.newKey)
  const oldSignature = decodeText(decodeSignature, entry.oldSignature)
  const newSignature = decodeText(decodeSignature, entry.newSignature)
  if (oldKey === null || newKey === null || oldSignature === null || newSignature === null) {
    return null
  }
  if (keyThumbprint(newKey) !== entry.key) return null
  const { service, did, keySequence: sequence, issuedAt } = entry
  const signed = { operation: 'rotate', service, did, sequence, oldKey, newKey, issuedAt } as const
  const message = keyOperationMessage(naming, signed)
  return [
    { publicKey: oldKey, message, signature: oldSignature },
    { publicKey: newKey, message, signature: newSignature },
  ]
}

type Members = Readonly<Record<string, JsonValue>>

/** @returns null if the bytes are not a JSON object in the one form that canonical JSON has */
function parseCanonical(bytes: Uint8Array): Members | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: JsonValue = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
    return canonicalJson(value) === text ? (value as Members) : null
  } catch {
    return null
  }
}

function isHash(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && KEY_PATTERN.test(value)
}

function isCount(value: JsonValue | undefined): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
