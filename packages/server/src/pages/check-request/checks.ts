import { type DelegationHop, SIGNATURE_REASONS, type SignatureReason } from '@countersign/protocol'
import { coveredNames, requiredNames, syntaxHint } from './decode-request.ts'
import type { Inspected } from './inspected.ts'
import { CHAIN_FAULTS, type CheckName, REASONS } from './reasons.ts'

/**
 * `undecided`: the check could not be made, so the request proves nothing. `unchecked`: only the site itself can make it, or nothing is
 * there to check. `not-reached`: an earlier check ended the verification.
 */
export type CheckOutcome = 'passed' | 'failed' | 'undecided' | 'unchecked' | 'not-reached'

/** What a check has compared. */
export type CheckValue =
  | { readonly kind: 'code' | 'text' | 'block'; readonly label: string; readonly text: string }
  | { readonly kind: 'names'; readonly label: string; readonly names: readonly string[] }
  | { readonly kind: 'link'; readonly label: string; readonly text: string; readonly path: string }
  /** Unix seconds; `now` in milliseconds since 1970. */
  | {
      readonly kind: 'times'
      readonly created: number | null
      readonly expires: number | null
      readonly now: number
    }
  /** `now` in milliseconds since 1970. */
  | {
      readonly kind: 'hop'
      readonly label: string
      readonly hop: DelegationHop
      readonly now: number
    }

export interface Check {
  readonly name: CheckName
  readonly title: string
  readonly outcome: CheckOutcome
  /** Empty for a check that was not reached. */
  readonly words: string
  readonly values: readonly CheckValue[]
}

interface CheckRow {
  readonly title: string
  /** What it means that the request passed. @returns `unchecked`: it is no more than that */
  passed(inspected: Inspected): string | { readonly unchecked: string }
  /** Why the check failed, if more is known than the words of the reason. */
  failed?(inspected: Inspected, reason: SignatureReason): string | null
  /** The real values, as far as they are known. */
  values(inspected: Inspected): readonly (CheckValue | null)[]
}

/** In the order of the checks. */
const ROWS: Readonly<Record<CheckName, CheckRow>> = {
  limits: {
    title: 'Signature and limits',
    passed: () => 'The request has a signature, and every field is within its limits.',
    values: ({ decoded: { input } }) =>
      typeof input === 'string' ? [] : [code('Label', input.label)],
  },
  syntax: {
    title: 'Syntax',
    passed: () => 'There is exactly one Web Bot Auth signature, and no field is ambiguous.',
    failed: ({ decoded, naming }) => syntaxHint(decoded, naming),
    values: () => [],
  },
  authority: {
    title: 'Audience',
    passed: ({ audience }) => `The request was sent to ${audience}.`,
    values: ({ decoded: { authority }, audience }) => [
      authority === null ? null : code('Sent to', authority),
      code('Your site', audience),
    ],
  },
  path: {
    title: 'Path',
    passed: () => 'The path is in its normalized form.',
    values: ({ decoded: { raw } }) => [code('Target', raw.target)],
  },
  components: {
    title: 'Signed components',
    passed: ({ result: { profile } }) =>
      profile === 'wba'
        ? 'The signature covers the host. Other signers than agents of this service need no more for requests that change nothing.'
        : 'The signature covers everything that matters in this request.',
    failed: (inspected) => {
      const missing = missingNames(inspected)
      return missing.length === 0
        ? null
        : `The signature does not cover ${missing.join(', ')}. Anyone on the way could have added or changed that.`
    },
    values: ({ decoded }) => {
      const covered = coveredNames(decoded)
      return covered.length === 0 ? [] : [names('Covered', covered)]
    },
  },
  times: {
    title: 'Times',
    passed: () => 'The signature is neither expired nor from the future.',
    values: ({ decoded: { input }, now }) =>
      typeof input === 'string'
        ? []
        : [{ kind: 'times', created: input.created, expires: input.expires, now }],
  },
  key: {
    title: 'Key',
    passed: ({ source }) =>
      source?.found || {
        unchecked: 'The key of the agent was not used, because the delegation does not count.',
      },
    failed: ({ source }) => source?.fault ?? null,
    values: ({ result: { keyid, signatureAgent } }) => [
      keyid === null ? null : code('keyid', keyid),
      signatureAgent === null ? null : code('Signature-Agent', signatureAgent.url),
    ],
  },
  delegation: {
    title: 'Delegation',
    passed: ({ result: { delegation } }) =>
      delegation === null
        ? 'The request has no chain of delegations.'
        : 'The agent has delegated to this key, hop by hop. Your gateway refuses chains unless delegation is set in its policy.',
    failed: ({ result: { delegation } }, reason) => {
      const fault = delegation?.fault ?? null
      return reason === 'delegation-invalid' && fault !== null ? CHAIN_FAULTS[fault] : null
    },
    values: ({ result: { delegation }, now }) =>
      (delegation?.hops ?? []).map((hop, at) => ({
        kind: 'hop',
        label: `Hop ${at + 1}`,
        hop,
        now,
      })),
  },
  signature: {
    title: 'Signature',
    passed: () => 'The key signed this request.',
    failed: ({ isRedacted }, reason) =>
      isRedacted && reason === 'bad-signature'
        ? 'The link leaves out a value that is signed, so the signature cannot be verified.'
        : null,
    values: ({ decoded: { base } }) =>
      base === null ? [] : [{ kind: 'block', label: 'Signature base', text: base }],
  },
  identification: {
    title: 'Identification header',
    passed: ({ naming }) => `${naming.idHeader} is absent, or names the same agent and is signed.`,
    values: ({ decoded: { fields }, naming }) =>
      (fields.get(naming.idHeader.toLowerCase()) ?? []).map((each) => code(naming.idHeader, each)),
  },
  status: {
    title: 'Certificate status',
    passed: ({ result: { did } }) =>
      did === null
        ? {
            unchecked:
              'This service has not certified the signer. The key alone does not tell who owns it.',
          }
        : 'The certificate is active. The policy of your site decides whom to admit.',
    values: ({ result: { did }, source }) => {
      if (did === null) return []
      const path = source?.isSample ? '/sample' : `/agent/${did}`
      return [{ kind: 'link', label: 'Certificate', text: did, path }]
    },
  },
  approval: {
    title: 'Approval',
    passed: ({ result: { approval }, decoded: { fields }, naming }) => {
      if (approval !== null) {
        return 'The owner of the agent has approved exactly this request. This page uses nothing up: your gateway admits each approval once.'
      }
      return fields.has(naming.tokenHeaders.approval.toLowerCase())
        ? { unchecked: 'The approval was not read, because the request is not verified.' }
        : 'The request has no approval. It needs one only where approval is set in the policy of your gateway.'
    },
    values: ({ result: { approval } }) =>
      approval === null ? [] : [code('Approval', approval.id), code('Approved by', approval.by)],
  },
  nonce: {
    title: 'Nonce',
    passed: ({ decoded: { input } }) => ({
      unchecked:
        typeof input !== 'string' && input.nonce === null
          ? 'The signature has no nonce, so a copy of the request cannot be told from it.'
          : 'The nonce has the right form. This page does not store nonces: your site must refuse one that it has seen before.',
    }),
    values: ({ decoded: { input } }) =>
      typeof input === 'string' || input.nonce === null ? [] : [code('Nonce', input.nonce)],
  },
  body: {
    title: 'Body',
    passed: ({ result: { digest } }) => {
      if (digest === 'none') return 'The request has no body.'
      return digest === 'checked'
        ? 'The body matches Content-Digest.'
        : { unchecked: 'Paste the body below an empty line to compare it with Content-Digest.' }
    },
    values: ({ decoded: { fields } }) =>
      (fields.get('content-digest') ?? []).map((each) => code('Content-Digest', each)),
  },
}

const ORDER = Object.keys(ROWS) as readonly CheckName[]

/** The verifier stops at the first fault: every check before it has passed, and none after it was made. */
export function checksOf(inspected: Inspected): readonly Check[] {
  const { reason } = inspected.result
  const { stop, last } = endOf(reason)
  return ORDER.map((name, index) => {
    const row = ROWS[name]
    const { title } = row
    const values = row.values(inspected).filter((each) => each !== null)
    if (index > last) {
      return { name, title, outcome: 'not-reached', words: '', values }
    }
    if (reason !== null && index === stop) {
      const words = row.failed?.(inspected, reason) ?? REASONS[reason].words
      return { name, title, outcome: faultOutcome(inspected, reason), words, values }
    }
    const passed = row.passed(inspected)
    return typeof passed === 'string'
      ? { name, title, outcome: 'passed', words: passed, values }
      : { name, title, outcome: 'unchecked', words: passed.unchecked, values }
  })
}

/** The check that failed, and the last one that was made. */
function endOf(reason: SignatureReason | null): { readonly stop: number; readonly last: number } {
  if (reason === null) return { stop: ORDER.length, last: ORDER.length }
  const { check, after = check } = REASONS[reason]
  return { stop: ORDER.indexOf(check), last: ORDER.indexOf(after) }
}

/** What the signature has to cover and does not. */
function missingNames({ decoded, result: { profile } }: Inspected): readonly string[] {
  const covered = coveredNames(decoded)
  const required = requiredNames(decoded, profile)
  return required.filter((each) => !covered.includes(each))
}

function faultOutcome({ isRedacted }: Inspected, reason: SignatureReason): CheckOutcome {
  if (isRedacted && reason === 'bad-signature') return 'undecided'
  return SIGNATURE_REASONS[reason].verdict === 'invalid' ? 'failed' : 'undecided'
}

function code(label: string, text: string): CheckValue {
  return { kind: 'code', label, text }
}

function names(label: string, all: readonly string[]): CheckValue {
  return { kind: 'names', label, names: all }
}
