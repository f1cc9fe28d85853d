import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
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
    ['none', 'unreadable', 'signature-invalid', 'named'].includes(caller.kind) &&
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
