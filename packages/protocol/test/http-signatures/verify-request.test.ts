import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  headerFields,
  memoryNonceStore,
  type NonceStore,
  parseSignatureAgent,
  readPath,
  readSignatureInput,
  requestVerifier,
  SIGNATURE_REASONS,
  StructuredFieldError,
  signatureBase,
} from '../../src/index.ts'
import {
  assertReason,
  NOW,
  naming,
  optionsFor,
  optionsOf,
  requestOf,
  signingKey,
  vectors,
} from '../support/signed-requests.ts'

for (const each of vectors.valid) {
  const { name, request, base, digest, profile = 'strict', key = 'agent' } = each
  test(`verified: ${name}`, async () => {
    const raw = requestOf(request)
    const fields = headerFields(raw.headers)
    const input = readSignatureInput(fields, [])
    assert.ok(typeof input === 'object')
    const origin = `https://${request.authority.toLowerCase().replace(':443', '')}`
    const path = readPath(raw.target, origin)
    assert.ok(path !== null)
    const parts = { method: raw.method, origin, fields, ...path }
    assert.equal(signatureBase(parts, input.components, input.params), base)

    const result = await requestVerifier(optionsOf(each))(raw)
    assert.equal(result.reason, null)
    assert.equal(result.verdict, 'verified')
    assert.equal(result.did, vectors.keys[key].did)
    assert.equal(result.keyid, vectors.keys[key].keyid)
    assert.deepEqual([result.replay, result.digest], [each.replay ?? 'checked', digest])
    assert.equal(result.profile, profile)
  })
}

test('a path is one exactly if URL leaves it as it is', () => {
  const pieces = [
    '/',
    '/',
    'a',
    'Z9',
    '.',
    '..',
    '-',
    '_',
    '~',
    '%2e',
    '%41',
    ':',
    '@',
    ';',
    '\\',
    ' ',
    '\u00e9',
  ]
  const origin = 'https://shop.example'
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 7 }), (parts) => {
      const target = parts.join('')
      const url = origin + target
      const isPath =
        /^[\x21-\x7e]*$/.test(url) && URL.canParse(url) && new URL(url).pathname === target
      assert.equal(readPath(target, origin)?.path ?? null, isPath ? target : null, target)
    }),
    { numRuns: 5_000 },
  )
})

test('what was read of a Signature-Agent before does not count for another field or key', () => {
  const address = 'https://agent.example/keys.json'
  const fields: [string, string | null][] = [
    [`sig1="${address}"`, 'sig1'],
    [`null="${address}"`, 'null'],
    [`"https://agent.example"`, null],
    [`a="${address}", b="https://b.example"`, 'a'],
    [`a="${address}", b="https://b.example"`, 'b'],
  ]
  for (const [field, key] of fields) assert.notEqual(parseSignatureAgent(field, key), null)
  for (const [field, key] of fields) {
    const agent = parseSignatureAgent(field, key)
    assert.deepEqual(parseSignatureAgent(` ${field}`, key), agent)
    const others = ['sig1', 'null', '', null, 'sig1 sig1', 'c'].filter((each) => each !== key)
    for (const other of others) {
      assert.throws(() => parseSignatureAgent(field, other), StructuredFieldError)
      assert.throws(() => parseSignatureAgent(`${key} ${field}`, other), StructuredFieldError)
      assert.throws(() => parseSignatureAgent(`${key}\n${field}`, other), StructuredFieldError)
    }
  }
})

for (const each of vectors.invalid) {
  const { name, request, reason, after = [] } = each
  test(`${reason}: ${name}`, async () => {
    const verify = requestVerifier(optionsOf(each))
    for (const earlier of after) {
      const { request } = vectors.valid.find((each) => each.name === earlier) ?? assert.fail()
      assert.equal((await verify(requestOf(request))).verdict, 'verified')
    }
    const result = await verify(requestOf(request))
    assertReason(result, reason)
    assert.equal(result.verdict, SIGNATURE_REASONS[reason].verdict)
  })
}

test('the vectors contain every reason that one request can show', () => {
  const shown = new Set<string>(vectors.invalid.map(({ reason }) => reason))
  const missing = Object.keys(SIGNATURE_REASONS).filter((reason) => !shown.has(reason))
  const ofChains = missing.filter((reason) => reason.startsWith('delegation-'))
  const ofApprovals = missing.filter((reason) => reason.startsWith('approval-'))
  assert.deepEqual(
    missing.filter((reason) => !ofChains.includes(reason) && !ofApprovals.includes(reason)),
    ['directory-unavailable', 'not-admitted', 'too-many-requests'],
  )
  assert.equal(ofChains.length, 5, 'they are in delegation.json')
  assert.equal(ofApprovals.length, 6, 'they are in approvals.json')
})

test('a member of Signature-Agent says how its address leads to keys; other types are ignored', () => {
  const types = { ietf: null, legacy: null, origin: 'directory', ucp: 'jwks_uri', cimd: 'cimd' }
  for (const { name, field, type, url } of vectors.signatureAgents.valid) {
    const agent = parseSignatureAgent(field, 'sig1') ?? assert.fail(name)
    assert.deepEqual([types[agent.dialect], agent.url], [type, url], name)
  }
  for (const { name, field } of vectors.signatureAgents.ignored) {
    assert.equal(parseSignatureAgent(field, 'sig1'), null, name)
  }
  for (const { name, field } of vectors.signatureAgents.invalid) {
    assert.throws(() => parseSignatureAgent(field, 'sig1'), StructuredFieldError, name)
  }
})

const find = (name: string) =>
  requestOf((vectors.valid.find((each) => each.name === name) ?? assert.fail()).request)

test('a request without a signature costs neither a key lookup nor a signature check', async () => {
  const never = () => assert.fail('called')
  const verify = requestVerifier(optionsFor({ findKey: never, verifySignature: never }))
  for (const { request, reason } of vectors.invalid) {
    if (reason === 'unsigned' || reason === 'malformed' || reason === 'authority') {
      assertReason(await verify(requestOf(request)), reason)
    }
  }
})

test('keys that cannot be read leave it undecided; the policy can refuse; neither uses up the nonce', async () => {
  const nonces = optionsFor().nonces
  const down = requestVerifier(optionsFor({ nonces, findKey: () => 'directory-unavailable' }))
  const unavailable = await down(find('GET'))
  assertReason(unavailable, 'directory-unavailable')
  assert.equal(unavailable.verdict, 'unverified')
  const seen: unknown[] = []
  const strict = requestVerifier(
    optionsFor({
      nonces,
      admit: async ({ did }) => {
        seen.push(did)
        return false
      },
    }),
  )
  const refused = await strict(find('GET'))
  assertReason(refused, 'not-admitted')
  assert.equal(refused.did, vectors.keys.agent.did)
  assert.deepEqual(seen, [vectors.keys.agent.did])
  assert.equal((await requestVerifier(optionsFor({ nonces }))(find('GET'))).verdict, 'verified')
})

test('of one request many times at once, one is verified', async () => {
  const verify = requestVerifier(optionsFor())
  const results = await Promise.all(Array.from({ length: 50 }, () => verify(find('GET'))))
  assert.equal(results.filter(({ verdict }) => verdict === 'verified').length, 1)
  assert.equal(results.filter(({ reason }) => reason === 'replay').length, 49)
})

const youngStore = () => memoryNonceStore({ now: () => NOW + 1, random: () => 'B'.repeat(22) })

test('with a store that cannot tell, safe methods pass and say so, others wait', async () => {
  const stores: Record<string, NonceStore> = {
    'younger than the request': youngStore(),
    down: {
      record: () => {
        throw new Error('connection refused')
      },
    },
    'down, asynchronously': { record: () => Promise.reject(new Error('connection refused')) },
  }
  for (const [name, nonces] of Object.entries(stores)) {
    const verify = requestVerifier(optionsFor({ nonces }))
    const get = await verify(find('GET'))
    assert.deepEqual([get.verdict, get.replay], ['verified', 'unchecked'], name)
    const post = await verify(find('POST without a body covers the digest of nothing'))
    if (name.startsWith('down')) assertReason(post, 'replay-unchecked')
    else assertReason(post, 'replay')
  }
  const post = await requestVerifier(optionsFor({ nonces: youngStore() }))(find('POST'))
  assertReason(post, 'replay-unchecked')
  assert.deepEqual(SIGNATURE_REASONS['replay-unchecked'], { verdict: 'unverified', status: 503 })
})

test('a caller that detects replays itself records no nonces here', async () => {
  const verify = requestVerifier(optionsFor({ nonces: null }))
  for (let i = 0; i < 2; i++) {
    const result = await verify(find('POST'))
    assert.deepEqual([result.verdict, result.replay], ['verified', 'unchecked'])
  }
})

test('a published test key counts with the option for tests alone', async () => {
  const { request } = vectors.invalid.find(({ reason }) => reason === 'test-key') ?? assert.fail()
  const verify = requestVerifier(optionsFor({ allowTestKeys: true }))
  assert.equal((await verify(requestOf(request))).verdict, 'verified')
})

test('a lookup that finds another key than the one named proves nothing', async () => {
  const findKey = () => signingKey(vectors.keys.other)
  assertReason(await requestVerifier(optionsFor({ findKey }))(find('GET')), 'unknown-key')
})

test('content that is announced without being visible has to be covered', async () => {
  const { body: _, ...hidden } = find('GET')
  const verify = () => requestVerifier(optionsFor())
  assert.equal((await verify()(hidden)).digest, 'none')
  assertReason(await verify()({ ...hidden, hasContent: true }), 'components')
  const headers = [...hidden.headers, ['transfer-encoding', 'chunked'] as const]
  assertReason(await verify()({ ...hidden, headers }), 'components')
})

test('over loopback plain http is enough, for an audience with http', async () => {
  const audiences = ['http://localhost:8080', 'https://shop.example']
  const request = { ...find('GET'), scheme: 'http' as const, authority: 'localhost:8080' }
  assertReason(await requestVerifier(optionsFor({ audiences }))(request), 'bad-signature')
  const reasonFor = async (audience: string, changes: object) => {
    const verify = requestVerifier(optionsFor({ audiences: [audience] }))
    return (await verify({ ...request, ...changes })).reason
  }
  const shop = { authority: 'shop.example' }
  assert.equal(await reasonFor('https://shop.example', shop), 'insecure')
  assert.equal(await reasonFor('http://shop.example', shop), 'insecure')
  assert.equal(await reasonFor('https://localhost:8080', {}), 'insecure')
  assert.equal(await reasonFor('http://localhost:8080', { scheme: 'https' }), 'authority')
})

test('an audience is an origin', () => {
  for (const audience of [
    '',
    'shop.example',
    'https://shop.example/',
    'https://Shop.example',
    '*',
  ]) {
    assert.throws(
      () => requestVerifier(optionsFor({ audiences: [audience] })),
      RangeError,
      audience,
    )
  }
})

test('the identification header has the name that the deployment chose', async () => {
  assert.equal(naming.idHeader, 'ServiceID')
  const named = { ...naming, idHeader: 'AcmeID' }
  const request = find('every field that is covered if it is present')
  const verify = requestVerifier(optionsFor({ naming: named }))
  assert.equal((await verify(request)).verdict, 'verified')
  const headers = [...request.headers, ['AcmeID', vectors.keys.agent.did] as const]
  const mismatch = await requestVerifier(optionsFor({ naming: named }))({ ...request, headers })
  assertReason(mismatch, 'identification-mismatch')
})

/**
 * The faults of the 17 negative vectors of ParallaxGrain/webbotauth-negative-vectors, each with the case here that has it. Theirs
 * are valid for 100 years, so that a verifier that bounds lifetimes refuses them all for that. NV-12 and NV-17 are decided otherwise:
 * without the Signature-Agent that it covers, a signature is invalid, not undecided; and an address with a path is the dialect
 * `ietf`, so that NV-17 is obsolete: addresses that nobody lists are `untrusted-agent` in every form.
 */
const PUBLISHED_FAULTS: Readonly<Record<string, string>> = {
  'NV-01 target not covered': '@authority is not covered',
  'NV-03 missing parameter': 'no expires',
  'NV-04 expired': 'expired',
  'NV-05 clock ahead': '31 seconds ahead',
  'NV-06 bad signature': 'a signature of zeros',
  'NV-07 another base': 'the base has a line too many',
  'NV-08 content digest mismatch': 'another body',
  'NV-09 missing component': 'a covered field was removed',
  'NV-10 Signature-Input unreadable': 'Signature-Input is no structured field',
  'NV-11 Signature unreadable': 'a signature that is not canonical base64',
  'NV-12 Signature-Agent absent': 'Signature-Agent was removed',
  'NV-13 ambiguous member': 'Signature-Agent as a whole is covered, and has several members',
  'NV-14 member missing': 'Signature-Agent has no member of the key',
  'NV-16 not https': 'Signature-Agent over plain http',
  'NV-17 not an origin': 'keys of somebody whom nobody lists, dialect ietf',
  'NV-18 Signature-Agent unreadable': 'Signature-Agent is no structured field',
  'NV-19 duplicate component': 'a repeated component',
}

test('every fault of the published negative vectors is among the vectors', () => {
  const names = new Set(vectors.invalid.map(({ name }) => name))
  for (const [fault, name] of Object.entries(PUBLISHED_FAULTS)) assert.ok(names.has(name), fault)
  assert.equal(Object.keys(PUBLISHED_FAULTS).length, 17)
})
