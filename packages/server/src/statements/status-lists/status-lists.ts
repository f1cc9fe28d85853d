import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import {
  STATUS_LIST_BYTES,
  STATUS_LIST_LENGTH,
  STATUS_VALUES,
  type StatusValue,
  setStatusAt,
  statusAt,
} from '@countersign/protocol'
import { entriesBetween, statusLists } from '../../agents/changes/status-entry-table.ts'
import type { Db, EventRow } from '../../database/database.ts'
import type { StatusEventPayload } from './status-event-table.ts'

const compress = promisify(deflate)

/** Entries read at a time, between which requests are answered. */
const PAGE_SIZE = 16_384
/** Four entries with the value 1. */
const FOUR_INVALID = 0b01010101

/** A status list as it is at one time. */
export interface PublishedList {
  readonly list: number
  /** Compressed (zlib), base64url: the member `lst` of a status list token. */
  readonly lst: string
  /** SHA-256 of the bytes before the compression, base64url. */
  readonly hash: string
}

/** A status list in memory, which takes 32 KiB. */
class StatusList {
  readonly #list: number
  readonly #bytes: Uint8Array
  #published: Promise<PublishedList> | null = null

  constructor(list: number, unallocated: StatusValue) {
    this.#list = list
    this.#bytes = new Uint8Array(STATUS_LIST_BYTES)
    if (unallocated !== 0) this.#bytes.fill(FOUR_INVALID)
  }

  at(idx: number): number | null {
    return statusAt(this.#bytes, idx)
  }

  set(idx: number, value: StatusValue): void {
    if (this.at(idx) === value) return
    setStatusAt(this.#bytes, idx, value)
    this.#published = null
  }

  /** The list as it is now. Compressed once until the next change. */
  publish(): Promise<PublishedList> {
    this.#published ??= publish(this.#list, this.#bytes.slice())
    return this.#published
  }
}

async function publish(list: number, bytes: Uint8Array): Promise<PublishedList> {
  const lst = (await compress(bytes)).toString('base64url')
  return { list, lst, hash: hash('sha256', bytes, 'base64url') }
}

/** All status lists in memory. */
export class StatusLists {
  readonly #lists = new Map<number, StatusList>()

  /** Reads all lists from the database. Events that are committed meanwhile may or may not be in them. */
  static async load(db: Db): Promise<StatusLists> {
    const lists = new StatusLists()
    for (const { list, is_closed } of await statusLists(db)) {
      const isClosed = is_closed === 1
      const unallocated = isClosed ? STATUS_VALUES.invalid : STATUS_VALUES.valid
      const loaded = new StatusList(list, unallocated)
      lists.#lists.set(list, loaded)
      for (let from = 0; from < STATUS_LIST_LENGTH; from += PAGE_SIZE) {
        const range = { from, to: from + PAGE_SIZE, onlyRestricted: !isClosed }
        for (const { idx, value } of await entriesBetween(db, list, range)) loaded.set(idx, value)
        await nextTurn()
      }
    }
    return lists
  }

  /** Applies the event of an allocation or of a change. */
  apply({ payload }: EventRow): void {
    const { list, idx, status = STATUS_VALUES.valid } = JSON.parse(payload) as StatusEventPayload
    const known = this.#lists.get(list) ?? new StatusList(list, STATUS_VALUES.valid)
    this.#lists.set(list, known)
    known.set(idx, status)
  }

  has(list: number): boolean {
    return this.#lists.has(list)
  }

  /** The value of an entry; null if there is no such list or entry. */
  valueAt(list: number, idx: number): number | null {
    return this.#lists.get(list)?.at(idx) ?? null
  }

  /** A list as it is now; undefined if there is none with this number. */
  publish(list: number): Promise<PublishedList> | undefined {
    return this.#lists.get(list)?.publish()
  }

  /** All lists as they are now, in one state. */
  publishAll(): Promise<PublishedList[]> {
    return Promise.all([...this.#lists.values()].map((each) => each.publish()))
  }
}
