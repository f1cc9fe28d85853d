import { ASSURANCES, type VerificationEvidence } from '@countersign/protocol'
import { DELETED_OWNER_ID } from '../../accounts/owner-table.ts'
import { DELETED_OWNER, type OwnerRecord } from '../agent-record.ts'
import { nextRevision, type Revised } from './revision.ts'

const NEVER_REVISED = { ...DELETED_OWNER, revision: 0 }

/** Words per owner, 40 bytes, with the strongest verification's provider, assurance and times. */
const OWNER_WORDS = 10
const OWNER_FLOATS = OWNER_WORDS / 2
const WORD = { id: 0, provider: 1, assurance: 2, flags: 3, revision: 8 } as const
/** The bits of the flags. */
const DELETED = 1
const ORGANISATION = 2
const FLOAT = { expiresAt: 2, verifiedAt: 3 } as const
const MIN_CAPACITY = 1024
const GROWTH = 1.5

type NameRecord = Pick<OwnerRecord, 'nameChangedAt' | 'publishedNames'>
const NO_NAMES: NameRecord = { nameChangedAt: null, publishedNames: new Map() }

/** Marks an owner without a verification: provider numbers start at 1. */
const NO_VERIFICATION = 0
const NEVER = Number.POSITIVE_INFINITY

/**
 * An in-memory cache of owners by id. Ids are consecutive, so the slot of an owner is its id modulo the limit. Above the limit,
 * owners evict each other.
 */
export class OwnerCache {
  readonly #limit: number
  readonly #bytes: ArrayBuffer
  readonly #words: Uint32Array
  readonly #floats: Float64Array
  readonly #usernames: string[] = []
  readonly #displayNames: string[] = []
  /** All verifications of owners with more than one, by slot. */
  readonly #multiple = new Map<number, readonly VerificationEvidence[]>()
  /** What is known about the names of the few owners who changed theirs or publish a verified one, by slot. */
  readonly #names = new Map<number, NameRecord>()
  readonly #providers = new StringTable()

  constructor(limit: number) {
    this.#limit = limit
    this.#bytes = new ArrayBuffer(0, { maxByteLength: limit * OWNER_WORDS * 4 })
    this.#words = new Uint32Array(this.#bytes)
    this.#floats = new Float64Array(this.#bytes)
  }

  /** A view of the owner's slot that decodes each member when it is read. Valid until the next change. */
  peek(id: number): (OwnerRecord & Revised) | undefined {
    if (id === DELETED_OWNER_ID) return NEVER_REVISED
    const slot = id % this.#limit
    return this.#words[slot * OWNER_WORDS + WORD.id] === id
      ? new SlotOwner(id, slot, this)
      : undefined
  }

  /** A copy of the owner's record, or undefined. */
  get(id: number): OwnerRecord | undefined {
    const owner = this.peek(id)
    if (owner === undefined) return undefined
    const { username, displayName, deleted, verifications, strongest } = owner
    const { isOrganisation, nameChangedAt, publishedNames } = owner
    return {
      id,
      username,
      displayName,
      deleted,
      isOrganisation,
      verifications,
      strongest,
      nameChangedAt,
      publishedNames,
    }
  }

  set(owner: OwnerRecord): void {
    const slot = owner.id % this.#limit
    this.#growTo(slot)
    const word = slot * OWNER_WORDS
    const float = slot * OWNER_FLOATS
    const { strongest, verifications } = owner
    this.#words[word + WORD.id] = owner.id
    this.#words[word + WORD.flags] =
      (owner.deleted ? DELETED : 0) | (owner.isOrganisation ? ORGANISATION : 0)
    this.#words[word + WORD.provider] = NO_VERIFICATION
    if (strongest !== null) {
      this.#words[word + WORD.provider] = this.#providers.numberOf(strongest.provider)
      this.#words[word + WORD.assurance] = ASSURANCES.indexOf(strongest.assurance)
      this.#floats[float + FLOAT.expiresAt] = strongest.expiresAt ?? NEVER
      this.#floats[float + FLOAT.verifiedAt] = strongest.verifiedAt
    }
    this.#usernames[slot] = owner.username
    this.#displayNames[slot] = owner.displayName
    if (verifications.length > 1) this.#multiple.set(slot, verifications)
    else this.#multiple.delete(slot)
    const { nameChangedAt, publishedNames } = owner
    if (nameChangedAt === null && publishedNames.size === 0) this.#names.delete(slot)
    else this.#names.set(slot, { nameChangedAt, publishedNames })
    this.#words[word + WORD.revision] = nextRevision()
  }

  revisionAt(slot: number): number {
    return this.#words[slot * OWNER_WORDS + WORD.revision] as number
  }

  namesAt(slot: number): NameRecord {
    return this.#names.get(slot) ?? NO_NAMES
  }

  usernameAt(slot: number): string {
    return this.#usernames[slot] as string
  }

  displayNameAt(slot: number): string {
    return this.#displayNames[slot] as string
  }

  isDeletedAt(slot: number): boolean {
    return this.#hasFlag(slot, DELETED)
  }

  isOrganisationAt(slot: number): boolean {
    return this.#hasFlag(slot, ORGANISATION)
  }

  #hasFlag(slot: number, flag: number): boolean {
    return ((this.#words[slot * OWNER_WORDS + WORD.flags] as number) & flag) !== 0
  }

  strongestAt(slot: number): VerificationEvidence | null {
    const word = slot * OWNER_WORDS
    const provider = this.#words[word + WORD.provider] as number
    if (provider === NO_VERIFICATION) return null
    const float = slot * OWNER_FLOATS
    const expiresAt = this.#floats[float + FLOAT.expiresAt] as number
    return {
      provider: this.#providers.nameOf(provider),
      assurance: ASSURANCES[this.#words[word + WORD.assurance] as number] as never,
      verifiedAt: this.#floats[float + FLOAT.verifiedAt] as number,
      expiresAt: expiresAt === NEVER ? null : expiresAt,
    }
  }

  verificationsAt(slot: number): readonly VerificationEvidence[] {
    const multiple = this.#multiple.get(slot)
    if (multiple !== undefined) return multiple
    const one = this.strongestAt(slot)
    return one === null ? [] : [one]
  }

  #growTo(slot: number): void {
    const capacity = this.#usernames.length
    if (slot < capacity) return
    const more = Math.max(MIN_CAPACITY, Math.ceil((slot + 1) * GROWTH))
    const owners = Math.min(this.#limit, more)
    this.#bytes.resize(owners * OWNER_WORDS * 4)
    while (this.#usernames.length < owners) {
      this.#usernames.push('')
      this.#displayNames.push('')
    }
  }
}

class SlotOwner implements OwnerRecord, Revised {
  readonly id: number
  readonly #slot: number
  readonly #owners: OwnerCache

  constructor(id: number, slot: number, owners: OwnerCache) {
    this.id = id
    this.#slot = slot
    this.#owners = owners
  }

  get revision(): number {
    return this.#owners.revisionAt(this.#slot)
  }

  get username(): string {
    return this.#owners.usernameAt(this.#slot)
  }

  get displayName(): string {
    return this.#owners.displayNameAt(this.#slot)
  }

  get deleted(): boolean {
    return this.#owners.isDeletedAt(this.#slot)
  }

  get isOrganisation(): boolean {
    return this.#owners.isOrganisationAt(this.#slot)
  }

  get strongest(): VerificationEvidence | null {
    return this.#owners.strongestAt(this.#slot)
  }

  get verifications(): readonly VerificationEvidence[] {
    return this.#owners.verificationsAt(this.#slot)
  }

  get nameChangedAt(): number | null {
    return this.#owners.namesAt(this.#slot).nameChangedAt
  }

  get publishedNames(): ReadonlyMap<string, string> {
    return this.#owners.namesAt(this.#slot).publishedNames
  }
}

/** Maps a few distinct strings to small numbers. */
class StringTable {
  readonly #names: string[] = []
  readonly #numbers = new Map<string, number>()

  /** @returns 1 for the first name, 2 for the second */
  numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#names.push(name)
    this.#numbers.set(name, this.#names.length)
    return this.#names.length
  }

  nameOf(number: number): string {
    return this.#names[number - 1] as string
  }
}
