import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import sodium from 'sodium-native'
import { signingAgent } from '../packages/gateway/test/support/signing.ts'
import { packGo } from '../tools/published/pack-go.ts'
import { decidedHere, mistakesHere, withoutRequestId } from './support/decided-here.ts'
import { blocksOf } from './support/doc-page.ts'
import { startGuardedSite } from './support/express-gateway.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { freeAddress, GoHome } from './support/go.ts'
import { logInfo, untilLogged } from './support/log-client.ts'
import { type DecisionCase, decisionCases, mistakeCases } from './support/policy-cases.ts'
import { run } from './support/run.ts'
import { ROOT, startTestService, type TestService, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'

const GO = needs('go')
const t = fileCleanup()
let service: TestService
let home: GoHome

before(async () => {
  if (GO.skip !== false) return
  service = await startTestService(t)
  home = new GoHome(t)
})

test('the module is formatted, passes go vet and its tests with the vectors', GO, async () => {
  const cwd = join(ROOT, 'go')
  assert.equal(await home.run(cwd, 'gofmt', '-l', '.'), '')
  await home.run(cwd, 'go', 'vet', './...')
  const { code, stdout, stderr } = await run(
    ...(['go', ['test', '-count=1', '-v', './...'], home.env, '', {}, cwd] as const),
  )
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^--- PASS: TestEveryVectorFileIsRunOrListed/m)
})

test('Go and TypeScript agree about 1,000 requests and policies', GO, async () => {
  const decisions = decisionCases(2_500).map(withoutDirectories).filter(isInGo).slice(0, 1_000)
  const mistakes = mistakeCases(1_500).map(withoutDirectories).filter(isReadAlike).slice(0, 1_000)
  assert.deepEqual([decisions.length, mistakes.length], [1_000, 1_000])
  const answers = await home.compare([
    ...decisions.map((each) => ({ kind: 'decision', ...each })),
    ...mistakes.map((each) => ({ kind: 'mistakes', ...each })),
  ])
  const comparable = (value: unknown) => JSON.parse(withoutRequestId(JSON.stringify(value)))
  for (const [i, each] of decisions.entries()) {
    const here = comparable(decidedHere(each))
    assert.deepEqual(comparable(answers[i]), here, JSON.stringify(each))
  }
  for (const [i, each] of mistakes.entries()) {
    assert.deepEqual(answers[decisions.length + i], mistakesHere(each), JSON.stringify(each))
  }
  // The cases reach what they are for.
  const actions = new Set(decisions.map((each) => decidedHere(each).decision.action))
  assert.deepEqual([...actions].toSorted(), ['allow', 'deny', 'flag', 'limit'])
  assert.ok(mistakes.filter((each) => mistakesHere(each).length > 0).length > 300)
})

test('Go and libsodium accept the same of 3,000 signatures', GO, async () => {
  const cases = signatureCases(3_000)
  const answers = await home.compare(cases.map((each) => ({ kind: 'signature', ...each })))
  const here = cases.map(({ publicKeyHex, messageHex, signatureHex }) => {
    const [key, message, signature] = [publicKeyHex, messageHex, signatureHex].map((each) =>
      Buffer.from(each, 'hex'),
    ) as [Buffer, Buffer, Buffer]
    // Keys of mixed order are refused, which libsodium does when it is asked about the point.
    return (
      sodium.crypto_core_ed25519_is_valid_point(key) &&
      sodium.crypto_sign_verify_detached(signature, message, key)
    )
  })
  for (const [i, each] of cases.entries()) assert.equal(answers[i], here[i], JSON.stringify(each))
  const accepted = here.filter(Boolean).length
  assert.ok(accepted > 200 && accepted < 1_500, String(accepted))
})

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** Signatures and keys with a changed bit, an S beyond the order, or a point of the vectors of faulty keys. */
function signatureCases(count: number) {
  const vectors = JSON.parse(readFileSync(join(ROOT, 'vectors/public-keys.json'), 'utf8'))
  const points: readonly Buffer[] = [...vectors.good, ...vectors.faulty].map(({ hex }) =>
    Buffer.from(hex, 'hex'),
  )
  return Array.from({ length: count }, (_, i) => {
    const [publicKey, secret] = [Buffer.alloc(32), Buffer.alloc(64)]
    const random = createHash('sha512').update(`case ${i}`).digest()
    sodium.crypto_sign_seed_keypair(publicKey, secret, random.subarray(0, 32))
    const [message, signature] = [random.subarray(32), Buffer.alloc(64)]
    sodium.crypto_sign_detached(signature, message, secret)
    const point = points[i % points.length] as Buffer
    const bit = random.readUInt16LE(40) % 512
    const changes = [
      () => undefined,
      () => signature.writeUInt8((signature[bit >> 3] as number) ^ (1 << (bit & 7)), bit >> 3),
      () => publicKey.writeUInt8((publicKey[bit >> 4] as number) ^ (1 << (bit & 7)), bit >> 4),
      () => point.copy(signature),
      () => point.copy(publicKey),
      () => addOrder(signature),
      () => [point.copy(publicKey), point.copy(signature), signature.fill(0, 32)],
    ]
    changes[i % (changes.length + 1)]?.()
    if (i % (changes.length + 1) === changes.length) {
      forge(random, message, publicKey, signature)
    }
    const [publicKeyHex, messageHex, signatureHex] = [publicKey, message, signature].map((each) =>
      each.toString('hex'),
    ) as [string, string, string]
    return { publicKeyHex, messageHex, signatureHex }
  })
}

/** A signature whose equation holds without the checks: with R of small order, or in every eighth case by a key of mixed order. */
function forge(random: Buffer, message: Buffer, publicKey: Buffer, signature: Buffer): void {
  const little = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
  const scalar = little(random.subarray(0, 31))
  const small = ed25519.Point.fromHex(
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  )
  const isMixed = (random[50] as number) % 2 === 0
  const own = ed25519.Point.BASE.multiply(scalar)
  const key = isMixed ? own.add(small) : own
  const nonce = isMixed ? scalar + 1n : 0n
  const r = isMixed ? ed25519.Point.BASE.multiply(nonce) : ed25519.Point.ZERO
  const input = Buffer.concat([r.toBytes(), key.toBytes(), message])
  const k = little(createHash('sha512').update(input).digest()) % ORDER
  const s = ((nonce + k * scalar) % ORDER).toString(16).padStart(64, '0')
  publicKey.set(key.toBytes())
  signature.set(r.toBytes())
  Buffer.from(s, 'hex').reverse().copy(signature, 32)
}

/** The same S modulo the order, in another encoding. */
function addOrder(signature: Buffer): void {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + ORDER
  Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse().copy(signature, 32)
}

/** A case without `directories` of the policy and sessions, which the module does not have. */
function withoutDirectories<T extends { policy: unknown }>(each: T): T {
  if (typeof each.policy !== 'object' || each.policy === null) return each
  const { directories: _, ...policy } = each.policy as Record<string, unknown>
  return { ...each, policy: Array.isArray(each.policy) ? each.policy : policy, sessions: false }
}

/** Whether a case is about what the module has: no callers of sessions and directories, and no letters beyond ASCII in paths. */
function isInGo({ caller, result, policy, target }: DecisionCase): boolean {
  const agent = result?.kind === 'answered' ? result.agent : result?.last?.agent
  return (
    !['conflict', 'session-ended', 'directory'].includes(caller.kind) &&
    !(caller.kind === 'named' && caller.proof === 'session') &&
    // Go has the empty text for null.
    agent?.identityMethod !== '' &&
    !/%[89a-f]/i.test(target) &&
    isReadAlike({ policy })
  )
}

/** Whether a policy is JSON without fields that Go refuses by name, and without texts that Go cannot have. */
function isReadAlike({ policy }: Pick<DecisionCase, 'policy'>): boolean {
  try {
    const text = JSON.stringify(policy)
    return !/"(?:directories|trust|offline|requireLogged)":|%[89a-f]|\\ud[89a-f]/i.test(text)
  } catch {
    // A circle.
    return false
  }
}

/** The blocks of docs/go.md that are run, by the heading above them. */
function programs(names: Readonly<Record<string, string>>): Map<string, string> {
  const found = new Map<string, string>()
  for (const { heading, text, fate } of blocksOf('docs/go.md')) {
    if (fate?.kind !== 'run') continue
    found.set(
      heading,
      Object.entries(names).reduce((done, [a, b]) => done.replaceAll(a, b), text),
    )
  }
  return found
}

test(
  'an agent, a site and a verifier in Go are installed from the service, as docs/go.md says',
  GO,
  async () => {
    const address = await freeAddress()
    const goSite = `http://${address}`
    const site = await startGuardedSite(t, service.url)
    const names = {
      'https://id.example': service.url,
      'https://shop.example/orders': `${site.url}/orders`,
      'https://shop.example': site.url,
    }
    const pages = programs(names)
    const install = pages.get('Install the module') ?? ''
    const build = (name: string, source: string | undefined) =>
      home.build(name, install, source ?? '')

    const agent = await build('agent', pages.get('Sign requests as an agent'))
    const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
    const call = (env: Readonly<Record<string, string>>) =>
      run(agent, [], { ...home.env, ...env }, '', {}, dirname(agent))
    const first = await call({ CLAIM_TOKEN: token })
    assert.match(first.stdout, /^svc:agent:\w{24} 200\n$/, first.stderr)
    const again = await call({})
    assert.equal(again.stdout, first.stdout, again.stderr)
    const did = first.stdout.split(' ')[0] as string

    const lookup = pages.get('Look up agents')?.replace('svc:agent:…', did)
    const looked = await run(await build('lookup', lookup), [], home.env)
    assert.equal(looked.stdout, 'true active in-person\n', looked.stderr)

    await untilLogged(service, 1)
    const { verifierKey, origin } = await logInfo(service.url)
    const verifier = await build('verifier', pages.get('Verify without a request to the service'))
    const verified = await run(verifier, [], { ...home.env, DID: did, LOG_KEY: verifierKey })
    assert.match(
      verified.stdout,
      new RegExp(`^${did} [A-E] .*\\n${origin} \\d+\\n$`),
      verified.stderr,
    )
    const forged = await run(verifier, [], {
      ...home.env,
      DID: did,
      LOG_KEY: otherKey(verifierKey),
    })
    assert.match(forged.stderr, /INVALID_PROOF|INVALID_ARGUMENT/)

    // The site of the page, on loopback and therefore without TLS.
    const source = (pages.get('Admit agents at a site') ?? '')
      .replaceAll(site.url, goSite)
      .replace('localhost:3000', address)
      .replace('TLSTerminated: true,', '')
    await home.serve(await build('site', source), goSite)
    const caller = await build(
      'caller',
      pages.get('Sign requests as an agent')?.replaceAll(site.url, goSite),
    )
    const called = await run(caller, [], {
      ...home.env,
      CLAIM_TOKEN: await service.operator.issueToken(await service.operator.addVerifiedOwner()),
    })
    assert.match(called.stdout, / 200\n$/, called.stderr)

    const other = await signingAgent(service, [goSite])
    const got = await other.agent.fetch(`${goSite}/orders`)
    assert.deepEqual([got.status, await got.text()], [200, `Hello ${other.did}\n`])
    // The site has just started: it asks for a signature with its nonce.
    const posted = await other.agent.fetch(`${goSite}/orders?a=%2F`, { method: 'POST', body: 'é' })
    assert.equal(posted.status, 200, await posted.text())

    const signed = await other.agent.sign(`${goSite}/orders?a=b`)
    const send = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const given = { ...Object.fromEntries(signed.headers), ...headers }
      return (await fetch(goSite + path, { headers: given })).status
    }
    assert.equal(await send('/other?a=b'), 401)
    assert.equal(await send('/orders?a=c'), 401)
    assert.equal(await send('/orders?a=b', { ServiceID: did }), 401)
    assert.equal(await send('/orders?a=b', { 'X-ServiceID-DID': did }), 200)
    assert.equal(await send('/orders?a=b'), 401, 'the same request again')
    const forgedHeaders = {
      ServiceID: did,
      'X-ServiceID-DID': did,
      'X-ServiceID-Proof': 'signature',
    }
    const refused = await fetch(`${goSite}/orders`, { headers: forgedHeaders })
    const { error } = (await refused.json()) as { error: { code: string; reasons: string[] } }
    assert.deepEqual(
      [refused.status, error.code, error.reasons[0]],
      [401, 'UNAUTHENTICATED', 'proof-required'],
    )
  },
)

test('the same sources give the same module', () => {
  assert.deepEqual(packGo(tempDir(t)), packGo(tempDir(t)))
})

/** The same name and key id with another key. */
function otherKey(verifierKey: string): string {
  return verifierKey.slice(0, -1) + (verifierKey.endsWith('A') ? 'B' : 'A')
}
