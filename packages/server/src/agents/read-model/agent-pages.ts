import { on } from 'node:events'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { TAIL_LENGTH } from '@countersign/protocol'
import type { AgentRow, Db } from '../../database/database.ts'
import { KEY_PRIORITY } from '../agent-table.ts'
import { type AgentPage, agentPageAfter, modifiedAgents } from './agent-page-table.ts'
import { AgentSlots, SLOT_WORDS } from './agent-slots.ts'
import { bytesToWords, KEY_WORDS, TAIL_WORDS } from './words.ts'

/** Small enough that requests wait only a few milliseconds meanwhile, and that the garbage collector frees pages early. */
const PAGE_SIZE = 4000
/** Pages that the thread reads before they are asked for, 400 kB each. */
const AHEAD = 50

/** Of an agent in `AgentPage.numbers`. */
const NUMBERS = 4
const ACTIVE = KEY_PRIORITY.indexOf('active')

/** Agents that have only what their claim gave them, as `AgentSlots` stores them, so that another thread can pack them. */
export interface PackedAgents {
  readonly count: number
  /** `SLOT_WORDS` for each agent. Revision, ring and the bit of the clock algorithm are 0. */
  readonly words: Uint32Array<ArrayBuffer>
  /** `KEY_WORDS` for each agent. */
  readonly keys: Uint32Array<ArrayBuffer>
}

/** Agents in the order of their claims, without their channels. */
export interface AgentsPage {
  /** `seq` of the last agent. */
  readonly last: number
  readonly unmodified: PackedAgents
  readonly modified: readonly AgentRow[]
}

/** Null after the last agent. */
export async function pageAfter(db: Db, after: number): Promise<AgentsPage | null> {
  const page = await agentPageAfter(db, after, PAGE_SIZE)
  if (page === null) return null
  const { last } = page
  const modified = page.modified === 0 ? [] : await modifiedAgents(db, after, last)
  return { last, unmodified: pack(page), modified }
}

function pack(page: AgentPage): PackedAgents {
  const count = page.tails.length / TAIL_LENGTH
  const slots = new AgentSlots(count, count)
  const tails = Buffer.from(page.tails, 'latin1')
  const keys = Buffer.from(page.publicKeys, 'hex')
  const numbers: number[] = JSON.parse(`[${page.numbers}]`)
  for (let i = 0; i < count; i++) {
    bytesToWords(tails, i * TAIL_LENGTH, slots.words, i * SLOT_WORDS, TAIL_WORDS)
    bytesToWords(keys, 4 * i * KEY_WORDS, slots.keys, i * KEY_WORDS, KEY_WORDS)
    slots.setSeq(i, numbers[i * NUMBERS] as number)
    slots.setOwner(i, numbers[i * NUMBERS + 1] as number)
    slots.setVersion(i, numbers[i * NUMBERS + 2] as number)
    slots.setClaimedAt(i, numbers[i * NUMBERS + 3] as number)
    slots.setStatus(i, ACTIVE)
  }
  return { count, words: slots.words, keys: slots.keys }
}

/** All agents, read by this thread. PostgreSQL prepares the next page while one is used. */
export async function* agentPages(db: Db): AsyncGenerator<AgentsPage> {
  let next = pageAfter(db, 0)
  for (let page = await next; page !== null; page = await next) {
    next = pageAfter(db, page.last)
    // If nobody awaits this one because the page before it fails: prevent an unhandled rejection.
    next.catch(() => undefined)
    yield page
  }
}

/**
 * All agents of a SQLite file. Another thread begins to read them at once.
 * @param resources receives the thread to end
 */
export function agentPagesOfFile(file: string, resources: AsyncDisposableStack) {
  const program = `page-thread${extname(import.meta.filename)}`
  const thread = new Worker(join(import.meta.dirname, program), { workerData: file })
  resources.defer(async () => void (await thread.terminate()))
  const messages = on(thread, 'message', { close: ['exit'] })
  for (let i = 0; i < AHEAD; i++) thread.postMessage('next')
  return pagesIn(messages, thread)
}

/** @throws Error if the thread fails */
async function* pagesIn(messages: AsyncIterable<unknown[]>, thread: Worker) {
  for await (const [page] of messages) {
    if (page === null) return
    thread.postMessage('next')
    yield page as AgentsPage
  }
  throw new Error('The thread that reads agents has ended.')
}
