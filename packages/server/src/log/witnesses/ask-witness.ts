import {
  type AddCheckpointRequest,
  formatAddCheckpoint,
  parseTreeSizeAnswer,
  TREE_SIZE_TYPE,
} from '@countersign/protocol'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { type Page, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'

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
export async function askWitness(
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
