import type { SignatureReason, SignatureResult } from '@countersign/protocol'
import type {
  RequestAnswer,
  RequestCheck,
  RequestCheckName,
  RequestForm,
  RequestOutcome,
} from '../check-request.ts'
import { CheckTabs, Verdict } from './check-parts.tsx'
import { SubmitButton, TextArea, TextField } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

interface CheckRequestData {
  readonly asked: RequestForm
  readonly answer: RequestAnswer
}

/** Explains the signature of a pasted request, check by check. */
export function checkRequestPage(context: PageContext, data: CheckRequestData | null): string {
  const { serviceName } = context
  return htmlOf(
    <Shell
      context={context}
      title={`Check a signed request · ${serviceName}`}
      description={`Paste an HTTP request that an agent of ${serviceName} signed, and see the result of each check.`}
      path="/check/request"
    >
      <CheckTabs path="/check/request" />
      <h1 className="mt-8 max-w-3xl text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
        Check a signed request
      </h1>
      <p className="mt-4 max-w-2xl text-lg/8 text-pretty">
        Paste a request that your site received from an agent of {serviceName}. You see each check
        of its signature (RFC 9421, Web Bot Auth) in order, with the reason if one fails.
      </p>
      {data !== null && (
        <section id="result" aria-label="Result" className="mt-10 max-w-3xl">
          <Answer context={context} answer={data.answer} />
        </section>
      )}
      <Form asked={data?.asked} />
    </Shell>,
  )
}

function Form({ asked }: { readonly asked: RequestForm | undefined }) {
  return (
    <form
      method="post"
      action="/check/request#result"
      className="mt-10 max-w-3xl space-y-5 border-t border-line pt-8"
    >
      <div className="grid gap-5 sm:grid-cols-[8rem_minmax(0,1fr)]">
        <TextField id="method" name="method" label="Method" value={asked?.method ?? 'GET'} code />
        <TextField
          id="url"
          name="url"
          label="URL"
          value={asked?.url ?? ''}
          placeholder="https://shop.example/orders?page=2"
          code
        />
      </div>
      <TextArea
        id="headers"
        name="headers"
        label="Headers"
        hint="One “Name: value” a line, as your site received them. Leave out cookies and other secrets that are not signed."
        value={asked?.headers ?? ''}
        rows={8}
      />
      <TextArea
        id="body"
        name="body"
        label="Body (optional)"
        hint="Only to compare it with Content-Digest."
        value={asked?.body ?? ''}
        optional
      />
      <TextField
        id="audience"
        name="audience"
        label="Origin of your site (optional)"
        hint="Default: the origin of the URL. Your site must take it from its settings, never from a request."
        value={asked?.audience ?? ''}
        code
        optional
      />
      <SubmitButton>Check request</SubmitButton>
      <p className="text-sm/6 text-soft">
        Nothing is stored: neither the request nor its nonce. Programs use{' '}
        <a href="/docs/api/check#verifyRequest" className="underline underline-offset-4">
          POST /api/v1/verify-request
        </a>
        .
      </p>
    </form>
  )
}

interface AnswerProps {
  readonly context: PageContext
  readonly answer: RequestAnswer
}

function Answer({ context, answer }: AnswerProps) {
  if (answer.kind === 'malformed') {
    return (
      <Verdict tone="plain" title="Cannot be checked">
        {answer.message}
      </Verdict>
    )
  }
  const { result, checks } = answer
  return (
    <div className="space-y-6">
      <Outcome result={result} />
      <ol className="divide-y divide-line rounded-lg border border-line bg-surface">
        {checks.map((check) => (
          <CheckRow key={check.check} context={context} answer={answer} check={check} />
        ))}
      </ol>
      <dl className="space-y-1 text-sm/6 text-soft">
        {result.did !== null && (
          <div>
            <dt className="inline">Agent: </dt>
            <dd className="inline wrap-anywhere">
              <a href={`/agent/${result.did}`} className="underline underline-offset-4">
                {result.did}
              </a>
            </dd>
          </div>
        )}
        {result.keyid !== null && (
          <div>
            <dt className="inline">keyid: </dt>
            <dd className="inline font-mono wrap-anywhere">{result.keyid}</dd>
          </div>
        )}
      </dl>
    </div>
  )
}

function Outcome({ result: { verdict, reason } }: { readonly result: SignatureResult }) {
  if (reason === null) {
    return (
      <Verdict tone="active" title="Verified">
        The agent signed this request, and its certificate is active.
      </Verdict>
    )
  }
  return verdict === 'invalid' ? (
    <Verdict tone="revoked" title="Invalid">
      Refuse this request. {REASON_WORDS[reason]}
    </Verdict>
  ) : (
    <Verdict tone="suspended" title="Not verified">
      This request proves nothing. {REASON_WORDS[reason]}
    </Verdict>
  )
}

interface RowProps {
  readonly context: PageContext
  readonly answer: Extract<RequestAnswer, { kind: 'checked' }>
  readonly check: RequestCheck
}

function CheckRow({ context, answer, check: { check, outcome } }: RowProps) {
  const { result, audience } = answer
  const { reason } = result
  const passed = { idHeader: context.site.naming.idHeader, audience, result }
  const isPartly = outcome === 'passed' && (check === 'nonce' || isBodyUnchecked(check, result))
  const label = isPartly ? 'Not checked' : OUTCOME_WORDS[outcome]
  return (
    <li className="grid gap-x-5 gap-y-1 px-4 py-3 sm:grid-cols-[minmax(0,1fr)_7rem]">
      <div className="min-w-0">
        <h2 className="font-medium">{CHECK_TITLES[check]}</h2>
        <p className="text-soft wrap-anywhere">{detailOf(check, outcome, reason, passed)}</p>
      </div>
      <p className={`font-medium sm:text-right ${isPartly ? 'text-warn' : OUTCOME_INKS[outcome]}`}>
        {label}
      </p>
    </li>
  )
}

function isBodyUnchecked(check: RequestCheckName, { digest }: SignatureResult): boolean {
  return check === 'body' && digest === 'unchecked'
}

const OUTCOME_WORDS: Readonly<Record<RequestOutcome, string>> = {
  passed: 'Passed',
  failed: 'Failed',
  undecided: 'Undecided',
  'not-reached': 'Not reached',
}

const OUTCOME_INKS: Readonly<Record<RequestOutcome, string>> = {
  passed: 'text-good',
  failed: 'text-bad',
  undecided: 'text-warn',
  'not-reached': 'text-soft',
}

const CHECK_TITLES: Readonly<Record<RequestCheckName, string>> = {
  limits: '1. Signature and limits',
  syntax: '2. Syntax',
  authority: '3. Audience',
  path: '4. Path',
  components: '5. Signed components',
  times: '6. Times',
  key: '7. Key',
  signature: '8. Signature',
  identification: '9. Identification header',
  status: '10. Certificate status',
  nonce: '11. Nonce',
  body: '12. Body',
}

interface Passed {
  readonly idHeader: string
  readonly audience: string
  readonly result: SignatureResult
}

function detailOf(
  check: RequestCheckName,
  outcome: RequestOutcome,
  reason: SignatureReason | null,
  passed: Passed,
): string {
  if (outcome === 'not-reached') return 'An earlier check ended the verification.'
  if (outcome !== 'passed' && reason !== null) return REASON_WORDS[reason]
  return PASSED_WORDS[check](passed)
}

const PASSED_WORDS: Readonly<Record<RequestCheckName, (passed: Passed) => string>> = {
  limits: () => 'The request has a signature, and every field is within its limits.',
  syntax: () => 'There is exactly one Web Bot Auth signature, and no field is ambiguous.',
  authority: ({ audience }) => `The request was sent to ${audience}.`,
  path: () => 'The path is in its normalized form.',
  components: () => 'The signature covers everything that matters in this request.',
  times: () => 'The signature is neither expired nor from the future.',
  key: () => 'This service knows the key as the current key of an agent.',
  signature: () => 'The key signed this request.',
  identification: ({ idHeader }) => `${idHeader} is absent, or names the same agent and is signed.`,
  status: () => 'The certificate is active. The policy of your site decides whom to admit.',
  nonce: () =>
    'The nonce has the right form. This page does not store nonces: your site must refuse one that it has seen before.',
  body: ({ result: { digest } }) => {
    if (digest === 'none') return 'The request has no body.'
    return digest === 'checked'
      ? 'The body matches Content-Digest.'
      : 'Paste the body to compare it with Content-Digest.'
  },
}

/** What each reason means and how to fix it, in plain words. */
export const REASON_WORDS: Readonly<Record<SignatureReason, string>> = {
  unsigned: 'The request has no Web Bot Auth signature. Paste Signature and Signature-Input too.',
  limits:
    'A field has more than 8 KiB, or there are more than 4 signatures or 32 signed components.',
  malformed:
    'The signature cannot be parsed: a signed header is missing or repeated, or there is not exactly one signature with the tag web-bot-auth.',
  'no-audience': 'The verifier has no list of its own origins.',
  'bad-host': 'The Host header is repeated, or differs from the host of the URL.',
  authority: 'The request was sent to another site. Somebody may have forwarded it.',
  insecure:
    'The request was received over plain http. A signature does not cover the scheme, so https is required.',
  'bad-path': 'The path is not in its normalized form, so two programs could read it differently.',
  components:
    'The signature does not cover everything that matters: @method, @authority, @path, @query if there is one, Content-Digest for a body, and the headers that change the meaning.',
  'not-yet-valid': 'created is more than 30 seconds in the future. Compare the clocks.',
  expired: 'The signature has expired. The agent must sign the request again.',
  lifetime: 'created or expires is missing, or they are more than 300 seconds apart.',
  'test-key': 'The key is published in a standard, so everyone has it.',
  'untrusted-agent': 'Signature-Agent does not name a key set of an agent of this service.',
  'unknown-key':
    'The agent does not exist, or keyid is not its current key. It may have changed its key.',
  'directory-unavailable': 'The keys of the agent cannot be read at the moment. Try again later.',
  'delegation-refused':
    'A delegate signed this request. Sites refuse delegates unless their settings accept them.',
  'delegation-invalid': 'A delegate signed this request, and its chain of delegations is invalid.',
  'delegation-expired': 'A delegate signed this request, and its delegation has expired.',
  'delegation-ended':
    'A delegate signed this request, and its delegation has ended: the certificate of the agent was replaced or revoked.',
  algorithm: 'alg is not ed25519.',
  'bad-signature':
    'The key did not sign this request. A signed header, the URL or the method differs from what was sent.',
  'identification-mismatch': 'The identification header names another agent, or is not signed.',
  suspended: 'The certificate of this agent is suspended.',
  revoked: 'The certificate of this agent is revoked.',
  'delegation-limit': 'A delegate signed this request, which is outside its limits.',
  'not-admitted': 'The policy of the site does not admit this agent.',
  nonce: 'The nonce is missing, or is not 22 to 128 base64url characters.',
  replay: 'The nonce was used before: this is a copy of an earlier request.',
  'too-many-requests': 'The key has used too many nonces in a short time.',
  'replay-unchecked': 'It cannot be determined whether the nonce was used before.',
  digest: 'The body does not match Content-Digest, or Content-Digest cannot be parsed.',
}
