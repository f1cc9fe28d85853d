import {
  type AgentEntry,
  encodeBase64,
  encodeBase64Url,
  entryFault,
  equalHashes,
  formatLogProof,
  formatVerifierKey,
  hashLeaf,
  isAgentEntry,
  type KnownAgent,
  knownAfter,
  type LogEntry,
  parseLogEntry,
  proveConsistency,
  proveInclusion,
  TILE_WIDTH,
  TREE_HASH_BYTES,
  tileWidth,
  verifyConsistency,
} from '@countersign/protocol'
import { isSignature } from '@countersign/sdk'
import { AgentTable } from './agent-table.ts'
import { LogFault } from './log-fault.ts'
import type { LogSource } from './log-source.ts'
import type { LogState, LogStateFile, WatchState } from './log-state.ts'
import { type OpenedLog, type OpenLogOptions, openLog } from './open-log.ts'
import { TreeFrontier } from './tree-frontier.ts'

/** Entries after which the state is saved, and which are in memory at once: 32 bundles, at most 8 MB. */
const CHUNK = 32 * TILE_WIDTH
const FETCHED_AT_ONCE = 8

/** An entry that is proven to be in the log. */
export interface SeenEntry {
  readonly entry: AgentEntry
  readonly index: number
  readonly leaf: Uint8Array
  /** By the entries before it; null: it is the first one about its agent. */
  readonly known: KnownAgent | null
  /** Which rule it breaks; null: none. */
  readonly fault: string | null
}

/** Looks at each new entry about an agent. */
export interface EntryWatcher {
  see(seen: SeenEntry): void
  /** Saved together with what was verified. */
  readonly state: WatchState
}

/** Stores entries once they are proven to be in the log. */
export interface EntryStore {
  /**
   * Durable once it returns: the state that is saved next counts these entries as verified.
   * @param start index of the first one
   */
  store(entries: readonly Uint8Array[], start: number): Promise<void>
}

export interface VerifyLogOptions extends Omit<OpenLogOptions, 'known'> {
  readonly file: LogStateFile
  /** Whether to verify every entry again, also those of earlier runs. */
  readonly all: boolean
  readonly watcher: EntryWatcher | null
  readonly store?: EntryStore
}

/** An entry that breaks a rule of the log. */
interface Violation {
  readonly message: string
  /** The path of the file with the evidence. */
  readonly evidence: string
}

/** The result of a verification. */
export interface VerifiedLog extends OpenedLog {
  /** How many entries this run has verified. */
  readonly entries: number
  /** Those that this run has found. */
  readonly violations: readonly Violation[]
  /** With those of earlier runs. */
  readonly violationCount: number
}

/**
 * Verifies what is new in a log since the state was saved: signature, consistency, the hash of every entry, and for each agent the
 * chain of its entries, its keys and the signatures of rotations. An entry is looked at once it is proven to be under the signed
 * checkpoint. The state is saved every 8,192 entries, so that a run which was interrupted can be continued.
 * @throws LogFault, whose evidence is to be kept; Failure STATE_DAMAGED, STATE_LOCKED, USAGE, and what `LogSource` throws
 */
export async function verifyLog(options: VerifyLogOptions): Promise<VerifiedLog> {
  const { file, all } = options
  const known = file.read()
  const opened = await openLog({ ...options, known })
  const run = new LogRun(options, opened, all ? null : known)
  try {
    const entries = await run.verify()
    return { ...opened, entries, violations: run.violations, violationCount: run.violationCount }
  } finally {
    run.close()
  }
}

class LogRun {
  readonly violations: Violation[] = []
  violationCount: number
  readonly #options: VerifyLogOptions
  readonly #opened: OpenedLog
  readonly #agents: string
  readonly #table: AgentTable
  #frontier: TreeFrontier
  /** The size in the state that was saved last. */
  #saved: number
  /** A verification of everything replaces the state at its end. */
  readonly #savesEarly: boolean

  constructor(options: VerifyLogOptions, opened: OpenedLog, from: LogState | null) {
    const { file } = options
    this.#options = options
    this.#opened = opened
    this.#frontier = from?.frontier ?? new TreeFrontier()
    this.#saved = this.#frontier.size
    this.violationCount = from?.violations ?? 0
    this.#savesEarly = !options.all
    file.deleteTables(file.read()?.agents ?? null)
    this.#agents = from?.agents ?? file.newAgents()
    const path = file.beside(this.#agents)
    this.#table = from === null ? AgentTable.create(path) : AgentTable.open(path)
  }

  /** @returns how many entries were verified */
  async verify(): Promise<number> {
    const { size } = this.#opened.checkpoint
    const first = this.#frontier.size
    while (this.#frontier.size < size) {
      const start = this.#frontier.size
      const end = Math.min(size, (Math.floor(start / CHUNK) + 1) * CHUNK)
      const entries = await this.#fetch(start, end)
      const frontier = await this.#provenFrontier(entries, start)
      for (const [i, bytes] of entries.entries()) await this.#check(bytes, start + i)
      await this.#options.store?.store(entries, start)
      this.#frontier = frontier
      if (this.#savesEarly) await this.#save()
    }
    await this.#save()
    this.#options.file.deleteTables(this.#agents)
    return size - first
  }

  close(): void {
    this.#table.close()
  }

  async #save(): Promise<void> {
    const { file, watcher } = this.#options
    const { key, signed } = this.#opened
    this.#table.sync()
    await file.write({
      verifierKey: formatVerifierKey(key),
      frontier: this.#frontier,
      checkpoint: signed,
      violations: this.violationCount,
      agents: this.#agents,
      watch: watcher?.state ?? null,
    })
    this.#saved = this.#frontier.size
  }

  /** The entries from an index to below another, as raw bytes. */
  async #fetch(start: number, end: number): Promise<Uint8Array[]> {
    const { checkpoint } = this.#opened
    const [first, last] = [Math.floor(start / TILE_WIDTH), Math.ceil(end / TILE_WIDTH)]
    const bundles: (readonly Uint8Array[])[] = []
    for (let index = first; index < last; index += FETCHED_AT_ONCE) {
      const count = Math.min(FETCHED_AT_ONCE, last - index)
      const fetched = Array.from({ length: count }, (_, i) =>
        this.#options.source.entries(index + i, tileWidth('entries', index + i, checkpoint.size)),
      )
      bundles.push(...(await Promise.all(fetched)))
    }
    return bundles.flat().slice(start - first * TILE_WIDTH, end - first * TILE_WIDTH)
  }

  /** The right edge of the tree after these entries, which are those of the signed tree. @throws LogFault LOG_REWRITTEN */
  async #provenFrontier(entries: readonly Uint8Array[], start: number): Promise<TreeFrontier> {
    const { checkpoint, read } = this.#opened
    const frontier = new TreeFrontier(start, this.#frontier.subtrees)
    for (const bytes of entries) frontier.append(hashLeaf(bytes))
    const old = { size: frontier.size, root: frontier.root() }
    const proof = await proveConsistency(old.size, checkpoint.size, read)
    if (verifyConsistency(old, checkpoint, proof)) return frontier
    throw await rewritten(this.#opened, this.#options.source, entries, start)
  }

  async #check(bytes: Uint8Array, index: number): Promise<void> {
    const entry = parseLogEntry(bytes)
    if (entry === null) return this.#violation(bytes, index, 'is not an entry of this format', null)
    if (!isAgentEntry(entry)) return this.#checkState(entry, bytes, index)
    const known = this.#table.get(entry.did, index)
    const leaf = hashLeaf(bytes)
    const fault = await entryFault(entry, known, isSignature)
    if (fault !== null) await this.#violation(bytes, index, fault, known)
    this.#table.set(entry.did, { ...knownAfter(entry, leaf, known), index }, this.#saved)
    this.#options.watcher?.see({ entry, index, leaf, known, fault })
  }

  async #checkState({ type }: LogEntry, bytes: Uint8Array, index: number): Promise<void> {
    if (type !== 'epoch' || index === 0) return
    await this.#violation(bytes, index, 'begins a log within a log', null)
  }

  async #violation(
    bytes: Uint8Array,
    index: number,
    fault: string,
    known: KnownAgent | null,
  ): Promise<void> {
    const { checkpoint, signed, read } = this.#opened
    const message = `Entry ${index} of ${checkpoint.origin} ${fault}.`
    const path = await proveInclusion(index, checkpoint.size, read)
    const evidence = await this.#options.file.keepEvidence({
      code: 'LOG_ENTRY_INVALID',
      message,
      index,
      entry: encodeBase64(bytes),
      before: known && {
        leaf: encodeBase64(known.leaf),
        key: encodeBase64Url(known.key),
        keySequence: known.keySequence,
      },
      proof: formatLogProof({ extra: bytes, index, path, checkpoint: signed }),
    })
    this.violations.push({ message, evidence })
    this.violationCount += 1
  }
}

/** Finds the first entry whose hash is another than the one in the tree. */
async function rewritten(
  { checkpoint, signed, read }: OpenedLog,
  source: LogSource,
  entries: readonly Uint8Array[],
  start: number,
): Promise<LogFault> {
  for (let i = 0; i < entries.length; ) {
    const tile = Math.floor((start + i) / TILE_WIDTH)
    const width = tileWidth(0, tile, checkpoint.size)
    const hashes = await source.hashes({ level: 0, index: tile, width })
    for (; i < entries.length && Math.floor((start + i) / TILE_WIDTH) === tile; i++) {
      const index = start + i
      const at = (index % TILE_WIDTH) * TREE_HASH_BYTES
      const hash = hashes.subarray(at, at + TREE_HASH_BYTES)
      const bytes = entries[i] as Uint8Array
      const leaf = hashLeaf(bytes)
      if (equalHashes(leaf, hash)) continue
      const message = `Entry ${index} of ${checkpoint.origin} is not the one that was logged: its hash is not that of the tree.`
      const path = await proveInclusion(index, checkpoint.size, read)
      return new LogFault('LOG_REWRITTEN', message, {
        index,
        entry: encodeBase64(bytes),
        leaf: encodeBase64(leaf),
        logged: { leaf: encodeBase64(hash), path: path.map(encodeBase64) },
        checkpoint: signed,
      })
    }
  }
  const message = `The entries of ${checkpoint.origin} from ${start} on are not those of its checkpoint of ${checkpoint.size} entries.`
  return new LogFault('LOG_REWRITTEN', message, { start, checkpoint: signed })
}
