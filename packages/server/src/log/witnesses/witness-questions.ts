import {
  type AddCheckpointRequest,
  formatAddCheckpoint,
  formatSignature,
  type PolicyWitness,
  parseNote,
  parseSignatures,
  parseTreeSizeAnswer,
  proveConsistency,
  signaturesOf,
  TREE_SIZE_TYPE,
  verifyCosignature,
} from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import type { LogWitnessRow } from '../../database/schema/log-rows.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { type Page, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { Ed25519Verifier } from '../../secrets/ed25519.ts'
import { readHashesFromDatabase } from '../log-table.ts'
import { newestSigned, type SignedCheckpoint } from './witness-table.ts'

/** A witness that names another size each time (409) is asked no further. */
const MAX_QUESTIONS = 3
/** How long not to ask a witness that has failed: twice as long each time. */
const PAUSE_MS = 2000
const MAX_PAUSE_MS = 60_000
/** How long not to ask a witness that refuses the log. */
const REFUSED_PAUSE_MS = 30_000
/** How far the clocks of the witness and of this machine may differ. */
const CLOCK_TOLERANCE_MS = 300_000

/** What changes in the row of a witness by its answer. */
export type Learned = Partial<Omit<LogWitnessRow, 'epoch' | 'witness'>>

export interface WitnessQuestionsDeps {
  readonly db: Pick<Database, 'read'>
  readonly sender: Pick<Sender, 'exchange'>
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

interface Question {
  readonly signed: SignedCheckpoint
  readonly state: LogWitnessRow
  readonly stopping: AbortSignal
}

/** Asks a witness to cosign a checkpoint, with a proof from what it has cosigned last, and judges its answer. */
export class WitnessQuestions {
  readonly #deps: WitnessQuestionsDeps
  readonly #ed25519 = new Ed25519Verifier()

  constructor(deps: WitnessQuestionsDeps) {
    this.#deps = deps
  }

  async ask(witness: PolicyWitness, question: Question): Promise<Learned> {
    const { signed, state, stopping } = question
    let size = Math.min(state.size, signed.size)
    for (let asked = 0; asked < MAX_QUESTIONS; asked++) {
      const answer = await this.#send(witness, { signed, size, stopping })
      if (stopping.aborted) return { not_before: 0 }
      if (answer.kind === 'cosigned') return this.#accept(witness, question, answer.lines)
      if (answer.kind === 'failed') return this.#failed(state, answer.reason)
      if (answer.kind === 'inconsistent') return this.#forked(witness, size)
      const named = answer.size ?? size
      if (named > signed.size) return this.#ahead(witness, signed, named)
      // It has cosigned this very size, but not this root.
      if (named === size && size === signed.size) return this.#forked(witness, size)
      if (named === size) break
      size = named
    }
    return this.#failed(state, `${witness.key.name} answers 409 again and again.`)
  }

  async #send(
    { url }: PolicyWitness,
    { signed, size, stopping }: Pick<Question, 'signed' | 'stopping'> & { readonly size: number },
  ): Promise<WitnessAnswer> {
    const { db, sender } = this.#deps
    const { epoch, size: newSize, checkpoint } = signed
    const read = readHashesFromDatabase(db.read, epoch, newSize)
    const proof = await proveConsistency(size, newSize, read).catch(() => null)
    if (proof === null) return { kind: 'failed', reason: 'The database lacks tiles of the log.' }
    return askWitness(sender, url ?? '', { oldSize: size, proof, checkpoint }, stopping)
  }

  /** Verifies the cosignature: by the key of the witness, not from before the checkpoint, and not from the future. */
  async #accept(
    { key }: PolicyWitness,
    { signed, state }: Question,
    lines: string,
  ): Promise<Learned> {
    const { now } = this.#deps
    const note = parseNote(signed.checkpoint)
    const signatures = parseSignatures(lines) ?? []
    const [line] = signaturesOf({ text: '', signatures }, key)
    const verify = (...args: Parameters<Ed25519Verifier['verify']>) => this.#ed25519.verify(...args)
    const time =
      note === null || line === undefined
        ? null
        : await verifyCosignature({ text: note.text, signatures: [line] }, key, verify)
    if (line === undefined || time === null)
      return this.#failed(state, `${key.name} answers without a valid cosignature.`)
    const at = time * 1000
    if (at < signed.at - CLOCK_TOLERANCE_MS || at > now() + CLOCK_TOLERANCE_MS)
      return this.#failed(state, `${key.name} cosigns with a time that is wrong: check its clock.`)
    return {
      size: signed.size,
      cosignature: formatSignature(line),
      answered_at: now(),
      failures: 0,
      failure: null,
      problem: null,
      not_before: 0,
    }
  }

  /** A witness that cannot be reached neither stops the log nor lets a log go on that it has stopped. */
  #failed({ failures }: LogWitnessRow, failure: string): Learned {
    const pause = Math.min(PAUSE_MS * 2 ** Math.min(failures, 10), MAX_PAUSE_MS)
    return { failures: failures + 1, failure, not_before: this.#deps.now() + pause }
  }

  async #ahead(
    { key }: PolicyWitness,
    { epoch, size }: SignedCheckpoint,
    cosigned: number,
  ): Promise<Learned> {
    // Another process may have signed a newer checkpoint meanwhile.
    const newest = await newestSigned(this.#deps.db.read)
    const known = newest?.signed?.epoch === epoch ? newest.signed.size : 0
    if (known >= cosigned) return { not_before: 0 }
    return this.#refused(
      `The witness ${key.name} has cosigned ${cosigned} entries of the log, but the newest checkpoint in the database has ${size}: it was restored, or has lost commits. Run: countersignd log recover --from <mirror>`,
    )
  }

  #forked({ key }: PolicyWitness, size: number): Learned {
    return this.#refused(
      `The log in the database does not contain the ${size} entries that the witness ${key.name} has cosigned: it was changed, or is another one. Run: countersignd log recover --from <mirror>`,
    )
  }

  #refused(problem: string): Learned {
    return { problem, not_before: this.#deps.now() + REFUSED_PAUSE_MS }
  }
}

/** For one question with its answer. */
const TIME_LIMIT_MS = 5000

/** What a witness answers (C2SP tlog-witness). */
export type WitnessAnswer =
  /** `lines`: signature lines, which are still to be verified. */
  | { readonly kind: 'cosigned'; readonly lines: string }
  /** It has cosigned a tree of another size last; null: of the same size, if that was asked, with another root. */
  | { readonly kind: 'conflict'; readonly size: number | null }
  /** The tree that it has cosigned last is not in that of the checkpoint. */
  | { readonly kind: 'inconsistent' }
  /** Nothing is known about what it has cosigned. */
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Asks a witness to cosign a checkpoint. Follows no redirect.
 * @param prefix its URL, without `/add-checkpoint`
 */
async function askWitness(
  sender: Pick<Sender, 'exchange'>,
  prefix: string,
  request: AddCheckpointRequest,
  stopping: AbortSignal,
): Promise<WitnessAnswer> {
  const url = new URL(`${prefix.replace(/\/$/, '')}/add-checkpoint`)
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  const message = { headers, body: formatAddCheckpoint(request) }
  const signal = AbortSignal.any([AbortSignal.timeout(TIME_LIMIT_MS), stopping])
  try {
    return answerOf(await sender.exchange(url, message, signal))
  } catch (error) {
    const isNetwork = error instanceof Unreachable || error instanceof ProofAbsent
    if (isNetwork) return { kind: 'failed', reason: error.message }
    throw error
  }
}

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'does not understand the request (400)',
  403: 'knows this log by another key (403)',
  404: 'does not witness this log (404)',
  429: 'has had too many requests (429)',
}

function answerOf({ status, mediaType, text }: Page): WitnessAnswer {
  if (status === 200) return { kind: 'cosigned', lines: text }
  if (status === 422) return { kind: 'inconsistent' }
  if (status === 409) {
    return {
      kind: 'conflict',
      size: mediaType === TREE_SIZE_TYPE ? parseTreeSizeAnswer(text) : null,
    }
  }
  const reason = `The witness ${REFUSALS[status] ?? `answers with status ${status}`}.`
  return { kind: 'failed', reason }
}
