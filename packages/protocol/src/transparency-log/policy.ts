import { type Checkpoint, openCheckpoint } from './checkpoint.ts'
import { verifyCosignature } from './cosignature.ts'
import { type Note, type NoteKey, parseVerifierKey, type VerifyEd25519 } from './signed-note.ts'

/** A log that a policy accepts. */
export interface PolicyLog {
  /** Of the type `ed25519`; its name is the origin. */
  readonly key: NoteKey
  readonly url: string | null
}

/** A witness that a policy knows. */
export interface PolicyWitness {
  /** Its name in the policy, which may differ from that of its key. */
  readonly name: string
  /** Of the type `cosignature`. */
  readonly key: NoteKey
  /** The prefix of its `add-checkpoint` (C2SP tlog-witness). */
  readonly url: string | null
}

/** Witnesses the checkpoints that at least `threshold` of its members have witnessed. */
export interface PolicyGroup {
  readonly name: string
  readonly threshold: number
  /** Names of witnesses, and of groups defined before. */
  readonly members: readonly string[]
}

/** Which checkpoints are valid: those of one of the logs, cosigned by the quorum (C2SP tlog-policy). */
export interface LogPolicy {
  /** May be empty if the log is known from elsewhere. */
  readonly logs: readonly PolicyLog[]
  readonly witnesses: readonly PolicyWitness[]
  /** In the order of their definition. */
  readonly groups: readonly PolicyGroup[]
  /** The name of a witness or group; null: no cosignature is required. */
  readonly quorum: string | null
}

/** A policy that is malformed. The message says where and why. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
}

/** The longest policy that is read, and the most logs, witnesses and groups that it has, each. */
const POLICY_MAX_LENGTH = 65_536
const POLICY_MAX_NAMES = 64

/** Tab, line feed, printable ASCII, and anything that is not ASCII. */
const LINE_PATTERN = /^(?:[^\p{Cc}\p{Cs}]|[\t\u0080-\u009f])*$/u
/** The name of the quorum that requires nothing. */
const NONE = 'none'

/**
 * Parses a policy (C2SP tlog-policy): lines `log <vkey> [<url>]`, `witness <name> <vkey> [<url>]`,
 * `group <name> all|any|<k> <name>…` and one `quorum <name>|none`. Keys are of Ed25519.
 * @throws PolicyError if it is malformed, over 65,536 characters, or over 64 logs, witnesses or groups
 */
export function parsePolicy(text: string): LogPolicy {
  if (text.length > POLICY_MAX_LENGTH) throw new PolicyError('The policy is too long.')
  const reader = new PolicyReader()
  for (const [i, line] of text.split('\n').entries()) {
    const problem = LINE_PATTERN.test(line) ? reader.read(line) : 'a control character'
    if (problem !== null) throw new PolicyError(`Line ${i + 1} of the policy: ${problem}.`)
  }
  return reader.finish()
}

class PolicyReader {
  readonly #logs: PolicyLog[] = []
  readonly #witnesses: PolicyWitness[] = []
  readonly #groups: PolicyGroup[] = []
  /** Names defined so far. A group deletes those of its members: each name is a member once. */
  readonly #free = new Set<string>()
  readonly #names = new Set<string>()
  #quorum: string | null | undefined

  /** @returns what is wrong; null: nothing */
  read(line: string): string | null {
    const words = line.split(/[ \t]+/).filter((word) => word !== '')
    const [keyword, ...rest] = words
    if (keyword === undefined || keyword.startsWith('#')) return null
    switch (keyword) {
      case 'log':
        return this.#log(rest)
      case 'witness':
        return this.#witness(rest)
      case 'group':
        return this.#group(rest)
      case 'quorum':
        return this.#setQuorum(rest)
      default:
        return 'it begins with none of log, witness, group and quorum'
    }
  }

  finish(): LogPolicy {
    if (this.#quorum === undefined) throw new PolicyError('The policy has no line "quorum".')
    const [logs, witnesses, groups] = [this.#logs, this.#witnesses, this.#groups]
    return { logs, witnesses, groups, quorum: this.#quorum }
  }

  #log([vkey = '', url, ...more]: readonly string[]): string | null {
    const key = parseVerifierKey(vkey)
    if (more.length > 0) return 'it has too many words'
    if (key?.type !== 'ed25519') return 'the key of the log is not a verifier key of Ed25519'
    if (this.#logs.some((log) => isSameKey(log.key, key))) return 'the log is there already'
    if (this.#logs.length === POLICY_MAX_NAMES) return `there are over ${POLICY_MAX_NAMES} logs`
    this.#logs.push({ key, url: url ?? null })
    return null
  }

  #witness([name = '', vkey = '', url, ...more]: readonly string[]): string | null {
    const key = parseVerifierKey(vkey)
    if (more.length > 0) return 'it has too many words'
    if (key?.type !== 'cosignature')
      return 'the key of the witness is not a verifier key of Ed25519 cosignatures'
    if (this.#witnesses.some((each) => isSameKey(each.key, key)))
      return 'the key of the witness is there already'
    if (this.#witnesses.length === POLICY_MAX_NAMES)
      return `there are over ${POLICY_MAX_NAMES} witnesses`
    this.#witnesses.push({ name, key, url: url ?? null })
    return this.#define(name)
  }

  #group([name = '', threshold = '', ...members]: readonly string[]): string | null {
    if (members.length === 0) return 'the group has no members'
    for (const member of members) {
      if (!this.#names.has(member)) return `"${member}" is not defined before`
      if (!this.#free.delete(member)) return `"${member}" is a member already`
    }
    const count = parseThreshold(threshold, members.length)
    if (count === null) return `it needs all, any, or a number from 1 to ${members.length}`
    if (this.#groups.length === POLICY_MAX_NAMES) return `there are over ${POLICY_MAX_NAMES} groups`
    this.#groups.push({ name, threshold: count, members })
    return this.#define(name)
  }

  #setQuorum([name, ...more]: readonly string[]): string | null {
    if (this.#quorum !== undefined) return 'there is a quorum already'
    if (name === undefined || more.length > 0) return 'it needs one name'
    if (name !== NONE && !this.#names.has(name)) return `"${name}" is not defined before`
    this.#quorum = name === NONE ? null : name
    return null
  }

  #define(name: string): string | null {
    if (name === NONE) return '"none" cannot be the name of a witness or group'
    if (this.#names.has(name)) return `"${name}" is defined already`
    this.#names.add(name)
    this.#free.add(name)
    return null
  }
}

function parseThreshold(text: string, members: number): number | null {
  if (text === 'any') return 1
  if (text === 'all') return members
  const count = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
  return count >= 1 && count <= members ? count : null
}

/** The name does not matter: a cosignature does not name its witness. */
function isSameKey(a: NoteKey, b: NoteKey): boolean {
  return a.publicKey.every((byte, i) => byte === b.publicKey[i])
}

/** Whether these witnesses are enough for the policy. @param witnesses their names in the policy */
export function isQuorum(
  { witnesses: known, groups, quorum }: LogPolicy,
  witnesses: Iterable<string>,
): boolean {
  if (quorum === null) return true
  const given = new Set(witnesses)
  const witnessed = new Set(known.map(({ name }) => name).filter((name) => given.has(name)))
  for (const { name, threshold, members } of groups) {
    if (members.filter((member) => witnessed.has(member)).length >= threshold) witnessed.add(name)
  }
  return witnessed.has(quorum)
}

/** A cosignature that was verified. */
export interface Cosignature {
  readonly witness: PolicyWitness
  /** When the witness signed, in Unix seconds. */
  readonly time: number
}

/** The cosignatures of a checkpoint by witnesses of a policy, verified. Others are ignored. */
export async function cosignaturesOf(
  note: Note,
  { witnesses }: Pick<LogPolicy, 'witnesses'>,
  verify: VerifyEd25519,
): Promise<Cosignature[]> {
  const found: Cosignature[] = []
  for (const witness of witnesses) {
    const time = await verifyCosignature(note, witness.key, verify)
    if (time !== null) found.push({ witness, time })
  }
  return found
}

/** A checkpoint that satisfies a policy. */
export interface WitnessedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly note: Note
  /** Of the log that has signed it. */
  readonly key: NoteKey
  /** All that are valid, also beyond the quorum. */
  readonly cosignatures: readonly Cosignature[]
}

/**
 * Reads a signed checkpoint and verifies it by a policy.
 * @param policy its logs are accepted; one without logs accepts none, so add those that are known from elsewhere
 * @returns null if it is malformed, not signed by one of the logs, or not cosigned by the quorum
 */
export async function openByPolicy(
  signed: string,
  policy: LogPolicy,
  verify: VerifyEd25519,
): Promise<WitnessedCheckpoint | null> {
  for (const { key } of policy.logs) {
    const opened = await openCheckpoint(signed, key, verify)
    if (opened === null) continue
    const cosignatures = await cosignaturesOf(opened.note, policy, verify)
    const names = cosignatures.map(({ witness }) => witness.name)
    return isQuorum(policy, names) ? { ...opened, key, cosignatures } : null
  }
  return null
}
