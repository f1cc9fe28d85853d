import { decodeKey } from '../encoding.ts'
import { namingOfDid } from '../naming.ts'
import { isThumbprint, keyThumbprint, parseThumbprint } from '../public-key.ts'
import { type AgentEntry, rotationSignatures } from './log-entry.ts'
import { equalHashes } from './merkle-tree.ts'
import type { VerifyEd25519 } from './signed-note.ts'

/** What is known of an agent by its entries so far. */
export interface KnownAgent {
  /** The leaf hash of its last entry. */
  readonly leaf: Uint8Array
  /** The JWK thumbprint of its newest key, 32 bytes. */
  readonly key: Uint8Array
  readonly keySequence: number
}

/**
 * Whether an entry continues the entries about its agent: `prev`, the number of the key, and the signatures of a rotation.
 * @param known null: this is the first entry
 * @returns what is wrong, as the end of a sentence about the entry; null: nothing
 */
export async function entryFault(
  entry: AgentEntry,
  known: KnownAgent | null,
  verify: VerifyEd25519,
): Promise<string | null> {
  const naming = namingOfDid(entry.did)
  if (naming === null || !naming.didPattern.test(entry.did)) return 'has a malformed DID'
  if (!isThumbprint(entry.key)) return 'has a malformed key'
  const prev = entry.prev === null ? null : decodeKey(entry.prev)
  if (!isSame(prev, known?.leaf ?? null)) {
    return 'does not refer to the entry before it about the same agent'
  }
  return keyFault(entry, known) ?? ownerFault(entry) ?? (await rotationFault(entry, known, verify))
}

/** What is known of the agent after an entry. */
export function knownAfter(
  entry: AgentEntry,
  leaf: Uint8Array,
  known: KnownAgent | null,
): KnownAgent {
  const { keySequence } = entry
  // A grade that was held back may be logged after the next key.
  if (known !== null && keySequence < known.keySequence) return { ...known, leaf }
  return { leaf, key: parseThumbprint(entry.key) ?? new Uint8Array(32), keySequence }
}

function keyFault(
  { type, key, keySequence, by }: AgentEntry,
  known: KnownAgent | null,
): string | null {
  if (type === 'claimed') {
    return known === null && keySequence === 1 && by === 'agent' ? null : 'claims an agent again'
  }
  if (known === null) return null
  if (type === 'existing') return 'adds an agent that the log has already'
  const isNext = keySequence === known.keySequence + 1
  if (type === 'key_rotated' || type === 'key_recovered') {
    return isNext ? null : 'replaces another key than the newest one'
  }
  if (isNext && type === 'key_contested') return null
  if (keySequence > known.keySequence) return 'has a key that no entry made current'
  const isOther = keySequence === known.keySequence && !isSame(parseThumbprint(key), known.key)
  return isOther ? 'has another key with the number of the newest one' : null
}

/** Only its owner gives an agent away. */
function ownerFault(entry: AgentEntry): string | null {
  if (entry.type !== 'owner_changed') return null
  return entry.by === 'owner' && /^[A-E]$/.test(entry.grade)
    ? null
    : 'gives an agent away without its owner'
}

async function rotationFault(
  entry: AgentEntry,
  known: KnownAgent | null,
  verify: VerifyEd25519,
): Promise<string | null> {
  if (entry.type !== 'key_rotated') return null
  const naming = namingOfDid(entry.did)
  const signatures = naming && rotationSignatures(naming, entry)
  if (signatures === null) return 'rotates a key without what both keys signed'
  for (const { publicKey, message, signature } of signatures) {
    if (!(await verify(publicKey, message, signature))) {
      return 'rotates a key with a signature that is not valid'
    }
  }
  const [{ publicKey: oldKey }] = signatures
  const isKnown = known === null || isSame(parseThumbprint(keyThumbprint(oldKey)), known.key)
  return isKnown ? null : 'rotates a key that the agent did not have'
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b
  return equalHashes(a, b)
}
