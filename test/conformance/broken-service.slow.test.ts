import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import type { ConformanceReport } from '../../packages/cli/src/conformance/conformance.ts'
import { cliFor } from '../../packages/cli/test/support/cli.ts'
import { issueTokens } from '../../packages/server/src/agents/claims/issue-token.ts'
import {
  type Breakage,
  type BreakingProxy,
  type Passing,
  startBreakingProxy,
} from '../support/breaking-proxy.ts'
import { fileCleanup } from '../support/file-cleanup.ts'
import { startTestService, type TestService } from '../support/service.ts'

let proxy: BreakingProxy
let service: TestService
const cleanup = fileCleanup()

before(async () => {
  proxy = await startBreakingProxy(cleanup)
  service = await startTestService(cleanup, { BASE_URL: proxy.url })
  proxy.target = service.settings.port
})
async function check(...more: string[]): Promise<ConformanceReport> {
  const { db, addVerifiedOwner } = service.operator
  const { naming } = service.settings
  const ownerId = await addVerifiedOwner()
  const deps = { db, naming, now: Date.now, randomBytes }
  const { claimTokens } = await issueTokens(deps, ownerId, 3)
  const tokens = claimTokens.flatMap((token) => ['--claim-token', token])
  const cli = cliFor({ after: () => undefined })
  const { code, stdout } = await cli.run('conformance', proxy.url, ...tokens, ...more, '--json')
  const report = JSON.parse(stdout) as ConformanceReport
  assert.equal(code, report.conforms ? 0 : 1)
  return report
}

const LOOKUP = /^GET \/api\/v1\/agent\/[^/]+$/
const CARD = /^GET \/api\/agents\/[^/]+\/card$/
const COMPACT = /^GET \/api\/v1\/agent\/[^/]+\/card$/
const AGENT = /^GET \/api\/agents\/[^/]+$/
const VERIFY = /^POST \/api\/v1\/agent\/verify$/
const CLAIM = /^POST \/api\/v1\/claim$/
const ANY = /^/
const OTHER_DID = `svc:agent:${'1'.repeat(24)}`

/** Changes the JSON of successes, or of errors with a status. */
function json(
  of: RegExp,
  // biome-ignore lint/suspicious/noExplicitAny: a test breaks any member
  change: (body: any, passing: Passing) => void,
  status = 200,
): Breakage {
  return (passing) => {
    if (!of.test(passing.request) || passing.status !== status || !passing.text.startsWith('{'))
      return
    const body = JSON.parse(passing.text)
    change(body, passing)
    passing.text = JSON.stringify(body)
  }
}

/** Turns one error into another. */
function error(of: RegExp, from: number, status: number, code: string): Breakage {
  return json(
    of,
    (body, passing) => {
      passing.status = status
      body.error = { message: 'Broken.', requestId: 'req_1', ...body.error, code }
    },
    from,
  )
}

/** Replaces the member at a path, by a value or by what becomes of the old one; undefined removes it. */
function set(
  of: RegExp,
  path: string,
  value: string | number | boolean | readonly [] | undefined | ((old: string) => unknown),
  on = 200,
): Breakage {
  const names = path.split('.')
  const last = names.pop() as string
  const change: Parameters<typeof json>[1] = (body) => {
    const parent = names.reduce((inner, name) => inner[name], body)
    parent[last] = typeof value === 'function' ? value(parent[last]) : value
  }
  return json(of, change, on)
}

/** Changes the status of what has one of these statuses, or any. */
function status(of: RegExp, to: number, from?: number): Breakage {
  return (passing) => {
    if (of.test(passing.request) && passing.status === (from ?? passing.status)) passing.status = to
  }
}

const didDocument =
  (breakage: Breakage): Breakage =>
  (passing) => {
    if (passing.accept === 'application/did+json') breakage(passing)
  }

/** One thing that is broken, and the section of a check that must fail. */
const BREAKAGES: Readonly<Record<string, readonly [section: string, Breakage]>> = {
  'certificate.id is another DID': ['4.1', set(LOOKUP, 'certificate.id', OTHER_DID)],
  'certificate.status is an unknown word': ['4.1', set(LOOKUP, 'certificate.status', 'valid')],
  'verified is text': ['4.1', set(LOOKUP, 'verified', (old) => String(old))],
  'verifyUrl is absolute': ['4.1', set(LOOKUP, 'certificate.verifyUrl', (old) => proxy.url + old)],
  'claimedAt is not in UTC': [
    '4.1',
    set(LOOKUP, 'owner.claimedAt', (old) => old.replace('Z', '+02:00')),
  ],
  'identityLevel contradicts the method': ['2.3', set(LOOKUP, 'owner.identityLevel', 'unverified')],
  'an unknown DID is 200': ['4.1', status(LOOKUP, 200)],
  'an unknown key is another code': ['4.2', error(LOOKUP, 404, 404, 'NO_SUCH_KEY')],
  'a malformed reference is 404': ['7', error(LOOKUP, 400, 404, 'NOT_FOUND')],
  'the card has no username': ['4.5', set(CARD, 'username', undefined)],
  'the card has a grade F': ['4.5', set(CARD, 'grade', 'F')],
  'the card has a tier without channels': ['2.4', set(CARD, 'tier', 2)],
  'the card shows another status': ['2.4', set(CARD, 'status', 'suspended')],
  'the description is too long': ['4.5', set(CARD, 'description', 'x'.repeat(161))],
  'the chat handle has no @': ['4.6', set(COMPACT, 'chatHandle', (old) => old.slice(1))],
  'the compact card is never verified': ['2.5', set(COMPACT, 'verificationStatus', 'unverified')],
  'the DID document is of another host': [
    '4.7',
    didDocument(set(AGENT, 'id', (old) => old.replace('127.0.0.1', 'evil.example'))),
  ],
  'the DID document authenticates nobody': ['4.7', didDocument(set(AGENT, 'authentication', []))],
  'the DID document has the type application/json': [
    '4.7',
    (passing) => {
      if (AGENT.test(passing.request)) passing.headers['content-type'] = 'application/json'
    },
  ],
  'signatureValid is false': ['4.3', set(VERIFY, 'signatureValid', false)],
  'a verification is unverified': ['4.3', set(VERIFY, 'identityLevel', 'unverified')],
  'an invalid signature is 400': ['4.3', error(VERIFY, 401, 400, 'VALIDATION_ERROR')],
  'an invalid signature is accepted': ['4.3', status(VERIFY, 200, 401)],
  'a claim has no message': ['4.4', set(CLAIM, 'message', undefined)],
  'a claim with a wrong signature is 403': ['4.4', error(CLAIM, 401, 403, 'FORBIDDEN')],
  'a claim with an invalid body is 422': ['4.4', error(CLAIM, 400, 422, 'VALIDATION_ERROR')],
  'a used token is 500': ['7', error(CLAIM, 410, 500, 'INTERNAL_ERROR')],
  'a registered pair is 400': ['7', error(CLAIM, 409, 400, 'VALIDATION_ERROR')],
  'errors have no requestId': ['7', set(ANY, 'error.requestId', undefined, 404)],
  'errors have another form of requestId': ['7', set(ANY, 'error.requestId', '42', 404)],
  'errors are HTML': [
    '7',
    (passing) => {
      if (passing.status === 404) passing.text = '<h1>Not found</h1>'
    },
  ],
  'tokens are issued to anyone': ['4.8', status(/^POST \/api\/agents\/token$/, 201)],
  'lookups need credentials': ['5', status(COMPACT, 401)],
}

test('the proxy alone breaks nothing', async () => {
  proxy.breakage = () => undefined
  const { checks, conforms } = await check()
  assert.deepEqual(
    checks.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.equal(conforms, true)
})

for (const [name, [section, breakage]] of Object.entries(BREAKAGES)) {
  test(`is caught: ${name}`, async () => {
    proxy.breakage = breakage
    const { checks, conforms } = await check('--no-vectors')
    assert.equal(conforms, false)
    const failed = checks.filter(({ outcome }) => outcome === 'fail')
    assert.ok(
      failed.some((each) => each.section === section),
      JSON.stringify(failed),
    )
  })
}

test('is caught by the vectors: a service that coerces, trims and accepts lax signatures', async () => {
  proxy.breakage = (passing) => {
    const lax = [LOOKUP, VERIFY, CLAIM, AGENT].some((each) => each.test(passing.request))
    if (lax && passing.status === 400) error(ANY, 400, 404, 'NOT_FOUND')(passing)
  }
  const { checks } = await check()
  const failed = checks.filter(({ outcome }) => outcome === 'fail').map((each) => each.check)
  const files = 'agent-reference base64 challenge claim-token public-keys requests signatures text'
  for (const file of files.split(' ')) {
    const isFound = failed.some((each) => each.startsWith(`vectors/${file}.json`))
    assert.ok(isFound, file)
  }
})

test('agents whose renunciation is refused are listed', async () => {
  proxy.breakage = error(/\/renounce$/, 200, 404, 'NOT_FOUND')
  const { left } = await check('--no-vectors')
  assert.ok(left.length >= 2, `${left.length} are listed`)
})
