import { ASSURANCES, type VerificationFact } from '@countersign/protocol'
import type { OwnerRecord } from '../agent-record.ts'

/** Words of an owner, 32 bytes: the place of a verification's provider, its assurance and its times among them. */
const OWNER_WORDS = 8
const OWNER_FLOATS = OWNER_WORDS / 2
const WORD = { id: 0, provider: 1, assurance: 2, deleted: 3 } as const
const FLOAT = { expiresAt: 2, verifiedAt: 3 } as const
const LEAST_CAPACITY = 1024
const GROWTH = 1.5

/** Where an owner has none: numbers of providers begin with 1. */
const NO_VERIFICATION = 0
const NEVER = Number.POSITIVE_INFINITY

/**
 * Owners in memory, by number. Numbers are given out in order, so that each is its own place in typed arrays; past the
 * limit an owner takes the place of another.
 */
export class OwnerCache {
  readonly #limit: number
  readonly #bytes: ArrayBuffer
  readonly #words: Uint32Array
  readonly #floats: Float64Array
  readonly #usernames: string[] = []
  readonly #displayNames: string[] = []
  /** All verifications of the owners that have several: by place. */
  readonly #several = new Map<number, readonly VerificationFact[]>()
  readonly #providers = new Names()

  constructor(limit: number) {
    this.#limit = limit
    this.#bytes = new ArrayBuffer(0, { maxByteLength: limit * OWNER_WORDS * 4 })
    this.#words = new Uint32Array(this.#bytes)
    this.#floats = new Float64Array(this.#bytes)
  }

  /** The owner as it stands in its place, read member by member: good until the next change. */
  peek(id: number): OwnerRecord | undefined {
    const place = id % this.#limit
    return this.#words[place * OWNER_WORDS + WORD.id] === id
      ? new OwnerInPlace(id, place, this)
      : undefined
  }

  /** A copy that lasts. */
  get(id: number): OwnerRecord | undefined {
    const owner = this.peek(id)
    if (owner === undefined) return undefined
    const { username, displayName, deleted, verifications, strongest } = owner
    return { id, username, displayName, deleted, verifications, strongest }
  }

  set(owner: OwnerRecord): void {
    const place = owner.id % this.#limit
    this.#makeRoom(place)
    const word = place * OWNER_WORDS
    const float = place * OWNER_FLOATS
    const { strongest, verifications } = owner
    this.#words[word + WORD.id] = owner.id
    this.#words[word + WORD.deleted] = owner.deleted ? 1 : 0
    this.#words[word + WORD.provider] = NO_VERIFICATION
    if (strongest !== null) {
      this.#words[word + WORD.provider] = this.#providers.numberOf(strongest.provider)
      this.#words[word + WORD.assurance] = ASSURANCES.indexOf(strongest.assurance)
      this.#floats[float + FLOAT.expiresAt] = strongest.expiresAt ?? NEVER
      this.#floats[float + FLOAT.verifiedAt] = strongest.verifiedAt
    }
    this.#usernames[place] = owner.username
    this.#displayNames[place] = owner.displayName
    if (verifications.length > 1) this.#several.set(place, verifications)
    else this.#several.delete(place)
  }

  usernameAt(place: number): string {
    return this.#usernames[place] as string
  }

  displayNameAt(place: number): string {
    return this.#displayNames[place] as string
  }

  isDeletedAt(place: number): boolean {
    return this.#words[place * OWNER_WORDS + WORD.deleted] === 1
  }

  strongestAt(place: number): VerificationFact | null {
    const word = place * OWNER_WORDS
    const provider = this.#words[word + WORD.provider] as number
    if (provider === NO_VERIFICATION) return null
    const float = place * OWNER_FLOATS
    const expiresAt = this.#floats[float + FLOAT.expiresAt] as number
    return {
      provider: this.#providers.nameOf(provider),
      assurance: ASSURANCES[this.#words[word + WORD.assurance] as number] as never,
      verifiedAt: this.#floats[float + FLOAT.verifiedAt] as number,
      expiresAt: expiresAt === NEVER ? null : expiresAt,
    }
  }

  verificationsAt(place: number): readonly VerificationFact[] {
    const several = this.#several.get(place)
    if (several !== undefined) return several
    const one = this.strongestAt(place)
    return one === null ? [] : [one]
  }

  #makeRoom(place: number): void {
    const capacity = this.#usernames.length
    if (place < capacity) return
    const more = Math.max(LEAST_CAPACITY, Math.ceil((place + 1) * GROWTH))
    const owners = Math.min(this.#limit, more)
    this.#bytes.resize(owners * OWNER_WORDS * 4)
    while (this.#usernames.length < owners) {
      this.#usernames.push('')
      this.#displayNames.push('')
    }
  }
}

class OwnerInPlace implements OwnerRecord {
  readonly id: number
  readonly #place: number
  readonly #owners: OwnerCache

  constructor(id: number, place: number, owners: OwnerCache) {
    this.id = id
    this.#place = place
    this.#owners = owners
  }

  get username(): string {
    return this.#owners.usernameAt(this.#place)
  }

  get displayName(): string {
    return this.#owners.displayNameAt(this.#place)
  }

  get deleted(): boolean {
    return this.#owners.isDeletedAt(this.#place)
  }

  get strongest(): VerificationFact | null {
    return this.#owners.strongestAt(this.#place)
  }

  get verifications(): readonly VerificationFact[] {
    return this.#owners.verificationsAt(this.#place)
  }
}

/** A few names, each kept once. */
class Names {
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
