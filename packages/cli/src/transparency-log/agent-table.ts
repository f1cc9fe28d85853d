import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs'
import type { KnownAgent } from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'

/** What is known of an agent by the entry with an index. */
export interface IndexedAgent extends KnownAgent {
  readonly index: number
}

const HEADER_BYTES = 64
const MAGIC = Buffer.from('countersign-log-agents-1\n')
const SALT_BYTES = 16
const COUNT_OFFSET = MAGIC.length + SALT_BYTES
const ID_BYTES = 16
/** Index + 1 (6 bytes; 0: none), number of the key (6), leaf hash (32), thumbprint (32). */
const VERSION_BYTES = 76
const CHECKSUM_BYTES = 4
const RECORD_BYTES = ID_BYTES + 2 * VERSION_BYTES + CHECKSUM_BYTES
const FIRST_CAPACITY = 4096
/** Records after the last slot, for those that are moved past it. */
const OVERFLOW = 1024
const PROBED_AT_ONCE = 8

/**
 * The last entry about each agent: a hash table in a file, so that a log of any size is verified in the same memory.
 *
 * Each record has two versions of an agent: the newest one, and the one when the state was last saved. If a run ends before it saves
 * the state, the next one continues with the older versions. So changes need no journal.
 */
export class AgentTable {
  readonly path: string
  #file: number
  #salt: Buffer
  #capacity: number
  #count: number

  private constructor(path: string, file: number, salt: Buffer, capacity: number, count: number) {
    this.path = path
    this.#file = file
    this.#salt = salt
    this.#capacity = capacity
    this.#count = count
  }

  /** @throws Failure STATE_DAMAGED */
  static open(path: string): AgentTable {
    const file = openExisting(path)
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    const records = (fstatSync(file).size - HEADER_BYTES) / RECORD_BYTES
    const capacity = records - OVERFLOW
    if (header.indexOf(MAGIC) !== 0 || !Number.isInteger(capacity) || capacity < FIRST_CAPACITY) {
      closeSync(file)
      throw damaged(path)
    }
    const salt = header.subarray(MAGIC.length, COUNT_OFFSET)
    return new AgentTable(path, file, salt, capacity, header.readUIntBE(COUNT_OFFSET, 6))
  }

  static create(path: string): AgentTable {
    const salt = randomBytes(SALT_BYTES)
    return new AgentTable(
      path,
      createFile(path, salt, FIRST_CAPACITY),
      salt,
      FIRST_CAPACITY,
      0,
    ).sync()
  }

  /**
   * What is known of an agent by the entries below an index.
   * @param index at least the size of the log when the state was last saved
   * @throws Failure STATE_DAMAGED
   */
  get(did: string, index: number): IndexedAgent | null {
    const record = this.#find(this.#idOf(did))?.record ?? null
    return record === null ? null : versionBelow(record, index)
  }

  /** @param saved the size of the log when the state was last saved @throws Failure STATE_DAMAGED */
  set(did: string, agent: IndexedAgent, saved: number): void {
    if (this.#count * 2 >= this.#capacity) this.#grow()
    const id = this.#idOf(did)
    let found = this.#find(id)
    while (found === null) {
      this.#grow()
      found = this.#find(id)
    }
    const before = found.record === null ? null : versionBelow(found.record, saved)
    writeSync(this.#file, formatRecord(id, agent, before), 0, RECORD_BYTES, found.position)
    if (found.record === null) this.#count += 1
  }

  /** Makes the changes durable. */
  sync(): this {
    const count = Buffer.alloc(6)
    count.writeUIntBE(this.#count, 0, 6)
    writeSync(this.#file, count, 0, 6, COUNT_OFFSET)
    fsyncSync(this.#file)
    return this
  }

  close(): void {
    closeSync(this.#file)
  }

  /** Salted, so that nobody can choose DIDs that all have the same slot. */
  #idOf(did: string): Buffer {
    return createHash('sha256').update(this.#salt).update(did).digest().subarray(0, ID_BYTES)
  }

  /** The record of an agent, or the free one for it. @returns null if there is no free record */
  #find(id: Buffer): Slot | null {
    const chunk = Buffer.alloc(PROBED_AT_ONCE * RECORD_BYTES)
    const end = this.#capacity + OVERFLOW
    for (let slot = slotOf(id, this.#capacity); slot < end; slot += PROBED_AT_ONCE) {
      const position = HEADER_BYTES + slot * RECORD_BYTES
      const length = readSync(this.#file, chunk, 0, chunk.length, position)
      for (let at = 0; at + RECORD_BYTES <= length; at += RECORD_BYTES) {
        const record = chunk.subarray(at, at + RECORD_BYTES)
        if (isFree(record)) return { position: position + at, record: null }
        if (record.compare(id, 0, ID_BYTES, 0, ID_BYTES) !== 0) continue
        if (!isIntact(record)) throw damaged(this.path)
        return { position: position + at, record }
      }
    }
    return null
  }

  /** Copies the records into a file of twice the size, which then replaces this one. */
  #grow(): void {
    const draft = `${this.path}.larger`
    const capacity = this.#capacity * 2
    const larger = new AgentTable(
      draft,
      createFile(draft, this.#salt, capacity),
      this.#salt,
      capacity,
      0,
    )
    const block = Buffer.alloc(512 * RECORD_BYTES)
    for (let at = HEADER_BYTES; ; ) {
      const length = readSync(this.#file, block, 0, block.length, at)
      for (let i = 0; i + RECORD_BYTES <= length; i += RECORD_BYTES) {
        const record = block.subarray(i, i + RECORD_BYTES)
        if (!isFree(record)) larger.#insert(record)
      }
      if (length < block.length) break
      at += length
    }
    larger.sync()
    renameSync(draft, this.path)
    closeSync(this.#file)
    this.#file = larger.#file
    this.#capacity = larger.#capacity
    this.#count = larger.#count
  }

  #insert(record: Buffer): void {
    const found = this.#find(record.subarray(0, ID_BYTES))
    // Twice the room, and the same hashes: only a damaged file has too many with one hash.
    if (found === null) throw damaged(this.path)
    writeSync(this.#file, record, 0, RECORD_BYTES, found.position)
    this.#count += 1
  }
}

interface Slot {
  readonly position: number
  /** Null: free. */
  readonly record: Buffer | null
}

function openExisting(path: string): number {
  try {
    return openSync(path, 'r+')
  } catch {
    throw damaged(path)
  }
}

function createFile(path: string, salt: Buffer, capacity: number): number {
  const file = openSync(path, 'w+', 0o600)
  ftruncateSync(file, HEADER_BYTES + (capacity + OVERFLOW) * RECORD_BYTES)
  writeSync(file, Buffer.concat([MAGIC, salt]), 0, COUNT_OFFSET, 0)
  return file
}

function damaged(path: string): Failure {
  const message = `${path} is missing or damaged. Verify the whole log again: --all`
  return new Failure('STATE_DAMAGED', message)
}

/** Doubling the capacity keeps the order of slots. */
function slotOf(id: Buffer, capacity: number): number {
  return Math.floor((id.readUIntBE(0, 6) / 2 ** 48) * capacity)
}

function isFree(record: Buffer): boolean {
  return record.readUIntBE(ID_BYTES, 6) === 0
}

function isIntact(record: Buffer): boolean {
  const end = RECORD_BYTES - CHECKSUM_BYTES
  return checksum(record.subarray(0, end)).equals(record.subarray(end))
}

function checksum(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES)
}

function versionsOf(record: Buffer): readonly [IndexedAgent | null, IndexedAgent | null] {
  return [parseVersion(record, ID_BYTES), parseVersion(record, ID_BYTES + VERSION_BYTES)]
}

/** The newer version by an entry below an index. */
function versionBelow(record: Buffer, index: number): IndexedAgent | null {
  return versionsOf(record).find((each) => each !== null && each.index < index) ?? null
}

function formatRecord(id: Buffer, newest: IndexedAgent, before: IndexedAgent | null): Buffer {
  const bytes = Buffer.concat([id, formatVersion(newest), formatVersion(before)])
  return Buffer.concat([bytes, checksum(bytes)])
}

function formatVersion(agent: IndexedAgent | null): Buffer {
  const bytes = Buffer.alloc(VERSION_BYTES)
  if (agent === null) return bytes
  bytes.writeUIntBE(agent.index + 1, 0, 6)
  bytes.writeUIntBE(agent.keySequence, 6, 6)
  bytes.set(agent.leaf, 12)
  bytes.set(agent.key, 44)
  return bytes
}

function parseVersion(record: Buffer, at: number): IndexedAgent | null {
  const next = record.readUIntBE(at, 6)
  if (next === 0) return null
  return {
    index: next - 1,
    keySequence: record.readUIntBE(at + 6, 6),
    leaf: Uint8Array.from(record.subarray(at + 12, at + 44)),
    key: Uint8Array.from(record.subarray(at + 44, at + 76)),
  }
}
