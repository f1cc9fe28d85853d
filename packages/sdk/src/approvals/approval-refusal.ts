import { readBody } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** More of a refusal is not read. */
const MAX_BYTES = 16 * 1024

/** The reason of a gateway that a request needs an approval, or that its store cannot tell whether one was used. */
export type ApprovalRefusal = 'approval-required' | 'approval-unchecked'

/** @returns null if a response refuses for another reason, or not at all. Its body can still be read */
export async function approvalRefusal(response: Response): Promise<ApprovalRefusal | null> {
  const expected = EXPECTED.get(response.status)
  const isJson = /^application\/json\b/i.test(response.headers.get('content-type') ?? '')
  if (expected === undefined || !isJson || response.body === null) return null
  const copy = response.clone()
  const body = await readBody(copy, MAX_BYTES)
  if (body === null || body === 'too-large') return null
  return firstReason(body) === expected ? expected : null
}

const EXPECTED: ReadonlyMap<number, ApprovalRefusal> = new Map([
  [403, 'approval-required'],
  [503, 'approval-unchecked'],
])

function firstReason(body: Uint8Array): unknown {
  try {
    const { error } = JSON.parse(new TextDecoder().decode(body))
    return error?.reasons?.[0]
  } catch {
    return null
  }
}

/** @throws CountersignError APPROVAL_UNCHECKED */
export async function assertChecked(response: Response): Promise<void> {
  if ((await approvalRefusal(response)) !== 'approval-unchecked') return
  await response.body?.cancel()
  throw new CountersignError(
    'APPROVAL_UNCHECKED',
    'The site cannot tell whether this approval was used, and never will. Ask again, after you have looked whether the request was done.',
  )
}
