import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type KeyLookup,
  namingFor,
  type RequestVerifier,
  requestVerifier,
} from '@countersign/protocol'
import { CountersignError, readStatusList, verifyCertificate, verifyStaple } from '@countersign/sdk'
import { optionsOf as delegationOptions } from '../packages/protocol/test/support/delegation.ts'
import { isSignature } from '../packages/sdk/src/keys/verify-signature.ts'
import { macsOf } from '../packages/sdk/src/relying-party/hmac.ts'
import { sessionTokens } from '../packages/sdk/src/relying-party/session-token.ts'
import { type DifferentialCase, differentialCases } from './support/differential-cases.ts'
import { GoHome } from './support/go.ts'
import { type ChainCase, chainCases } from './support/mutated-chains.ts'
import { pythonFor } from './support/python.ts'
import { ROOT, run } from './support/service.ts'
import { allOf, needs } from './support/tools.ts'

const PYTHON = pythonFor('cryptography')
const IS_NIGHTLY = process.env.TEST_TIER === 'nightly'
const COUNT = IS_NIGHTLY ? 5_000 : 2_000
/** Another one gives other cases; what it finds becomes a vector. */
const SEED = Number(process.env.SEED ?? 20_261_127)

const read = (name: string) => JSON.parse(readFileSync(join(ROOT, 'vectors', name), 'utf8'))
const REQUESTS = read('http-signatures.json')
const TOKENS = read('certificates.json')
const SESSIONS = read('sessions.json')

test(
  `TypeScript and Python decide ${COUNT} mutated requests and tokens alike`,
  PYTHON.options,
  async (t) => {
    const cases = differentialCases(SEED, COUNT)
    const script = join(ROOT, 'python/tests/differential.py')
    const lines = cases.map((each) => `${JSON.stringify(each)}\n`).join('')
    const [{ code, stdout, stderr }, here] = await Promise.all([
      run(PYTHON.path, [script], PYTHON.env, lines),
      verdictsOf(cases),
    ])
    assert.equal(code, 0, stderr)
    const there = stdout.trimEnd().split('\n').map(normalized)
    assert.equal(there.length, COUNT)
    t.diagnostic(compared(cases, here, there))
    // The cases reach what they are for.
    const verified = here.filter((each) => !/^(?:null$|[A-Z]|\["(?:invalid|unverified))/.test(each))
    assert.ok(verified.length > COUNT / 10, String(verified.length))
  },
)

test(
  `TypeScript and Go decide ${COUNT} mutated requests and tokens alike`,
  needs('go'),
  async (t) => {
    // Sessions are not in Go.
    const cases = differentialCases(SEED, COUNT).filter(({ kind }) => kind !== 'session')
    const [answers, here] = await Promise.all([new GoHome(t).compare(cases), verdictsOf(cases)])
    const there = answers.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    t.diagnostic(compared(cases, here.map(withoutEmptyTexts), there))
  },
)

const CHAINS = IS_NIGHTLY ? 2_000 : 1_000

test(
  `TypeScript, Python and Go decide ${CHAINS} mutated chains of delegations alike`,
  allOf(PYTHON.options, needs('go')),
  async (t) => {
    const cases = chainCases(SEED, CHAINS)
    const script = join(ROOT, 'python/tests/differential.py')
    const lines = cases.map((each) => `${JSON.stringify(each)}\n`).join('')
    const verify = requestVerifier(delegationOptions({}, { nonces: null }))
    const here = await Promise.all(cases.map((each) => chainVerdict(verify, each)))
    const python = await run(PYTHON.path, [script], PYTHON.env, lines)
    assert.equal(python.code, 0, python.stderr)
    compared(cases, here, python.stdout.trimEnd().split('\n').map(normalized))
    const go = (await new GoHome(t).compare(cases)).map((each) => JSON.stringify(each))
    t.diagnostic(compared(cases, here, go))
    // The cases reach what they are for.
    const faults = ['format', 'key', 'depth', 'times', 'widened', 'binding', 'root', 'signature']
    for (const each of [...faults, 'delegation-limit', 'delegation-expired', 'verified']) {
      assert.ok(here.filter((one) => one.includes(`"${each}"`)).length >= 5, each)
    }
  },
)

async function chainVerdict(verify: RequestVerifier, { request }: ChainCase): Promise<string> {
  const { body: _, ...raw } = request
  const { verdict, reason, did, keyid, delegation } = await verify({ ...raw, body: null })
  const hops = delegation?.hops.map(({ keyid, issuedAt, expiresAt, maxDepth, limits }) => {
    const { origins, methods, paths, mcp } = limits
    return [keyid, issuedAt / 1000, expiresAt / 1000, maxDepth, origins, methods, paths, mcp]
  })
  const { depth, keyid: last, fault } = delegation ?? {}
  return JSON.stringify([verdict, reason, did, keyid, delegation && [depth, last, fault, hops]])
}

/** Go has empty texts for null. */
function withoutEmptyTexts(line: string): string {
  const orNull = (_: string, value: unknown) => (value === '' ? null : value)
  return line.startsWith('[') ? JSON.stringify(JSON.parse(line, orNull)) : line
}

/** Asserts that all verdicts are the same. @returns what was compared */
function compared(
  cases: readonly (DifferentialCase | ChainCase)[],
  here: readonly string[],
  there: readonly string[],
): string {
  const differences = cases.flatMap((each, i) =>
    here[i] === there[i] ? [] : [{ case: each, typescript: here[i], other: there[i] }],
  )
  assert.deepEqual(differences.slice(0, Number(process.env.SHOW ?? 5)), [])
  return `${cases.length} compared, no differences: ${countsOf(cases, here)}`
}

/** Python escapes more than JSON has to. */
function normalized(line: string): string {
  return line.startsWith('[') ? JSON.stringify(JSON.parse(line)) : line
}

async function verdictsOf(cases: readonly DifferentialCase[]): Promise<readonly string[]> {
  const verdicts: string[] = []
  for (const each of cases) verdicts.push(await verdictOf(each))
  return verdicts
}

async function verdictOf(each: DifferentialCase): Promise<string> {
  if (each.kind === 'request') return requestVerdict(each)
  try {
    return JSON.stringify(await VERDICTS[each.kind](each.token))
  } catch (error) {
    return error instanceof CountersignError ? error.code : String(error)
  }
}

const findKey: KeyLookup = ({ signatureAgent: { url }, keyid }) => {
  const key = Object.values<Record<string, never>>(REQUESTS.keys).find(
    (one) => one.keyid === keyid && one.signatureAgent === url,
  )
  if (key === undefined) return 'untrusted-agent'
  const publicKey = new Uint8Array(Buffer.from(key.publicKeyHex ?? '', 'hex'))
  return { publicKey, did: key.did ?? null, status: key.status ?? null }
}

async function requestVerdict({ request, rules, now }: DifferentialCase & { kind: 'request' }) {
  const { body, ...raw } = request
  const verify = requestVerifier({
    audiences: REQUESTS.audiences,
    naming: namingFor(REQUESTS.shortName, REQUESTS.idHeader),
    findKey,
    verifySignature: isSignature,
    nonces: { record: () => 'fresh' },
    rulesOf: () => rules,
    now: () => now,
  })
  const bytes = body === null ? null : new TextEncoder().encode(body)
  const result = await verify(body === undefined ? raw : { ...raw, body: bytes })
  const { verdict, reason, profile, did, keyid, signatureAgent, replay, digest } = result
  const place = [signatureAgent?.dialect ?? null, signatureAgent?.url ?? null]
  return JSON.stringify(
    ...[[verdict, reason, profile, did, keyid, ...place, replay, digest, result.contentDigest]],
  )
}

const now = () => TOKENS.now
const issuers = [{ issuer: TOKENS.issuer, jwks: TOKENS.keySet }]
const macs = macsOf(SESSIONS.secrets)

const VERDICTS = {
  certificate: async (token: string) => {
    const options = { issuers, statusLists: [TOKENS.statusList], now }
    const found = await verifyCertificate(token, options)
    const { did, keyThumbprint, keySequence, keyChangedAt, grade, assurance } = found
    const told = [did, keyThumbprint, keySequence, keyChangedAt, grade, assurance]
    const issuedAt = found.issuedAt / 1000
    told.push(found.ownerChangedAt)
    return [...told, found.identityMethod, found.statusList.idx, issuedAt, found.log?.index ?? null]
  },
  staple: async (token: string) => {
    const found = await verifyStaple(token, { issuers, now })
    const { did, keyThumbprint, status, grade, issuedAt, feed } = found
    return [did, keyThumbprint, status, grade, issuedAt / 1000, feed?.n ?? null]
  },
  list: async (token: string) => {
    const { issuer, keySet, statusLists } = TOKENS
    const keysFor = () => keySet.keys
    const context = { issuer, uri: statusLists.uri, now: TOKENS.now, keysFor }
    const { bytes, issuedAt, feed } = await readStatusList(token, context)
    const digest = createHash('sha256').update(bytes).digest('hex')
    return [digest, Math.trunc(issuedAt), feed?.n ?? null]
  },
  session: async (token: string) => {
    const found = await sessionTokens(SESSIONS.audience, await macs).read(token, SESSIONS.now)
    if (found === null) return null
    const { did, identityLevel, keySequence, issuedAt, expiresAt } = found
    return [did, identityLevel, keySequence, issuedAt / 1000, expiresAt / 1000]
  },
}

/** How many of each verdict, such as `request invalid malformed 12`. */
function countsOf(
  cases: readonly (DifferentialCase | ChainCase)[],
  verdicts: readonly string[],
): string {
  const counts = new Map<string, number>()
  for (const [i, verdict] of verdicts.entries()) {
    const [, is, reason] = /^\["(verified|invalid|unverified)",(?:"([\w-]+)")?/.exec(verdict) ?? []
    const named = is === undefined ? verdict.replace(/^\[.*/, 'accepted') : `${is} ${reason ?? ''}`
    const name = `${cases[i]?.kind} ${named}`.trim()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  return sorted.map(([name, n]) => `${n} ${name}`).join(', ')
}
