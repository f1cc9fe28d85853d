import assert from 'node:assert/strict'
import { cpSync, existsSync, globSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { DelegatedAgent, newKey as newSigner } from '@countersign/sdk'
import { signingAgent } from '../packages/gateway/test/support/signing.ts'
import { packPython } from '../tools/published/pack-python.ts'
import { allowDelegation } from './support/allow-delegation.ts'
import { allowApprovals, approve, deny, newApprovalWorld } from './support/approvals.ts'
import { startApprovingSite } from './support/approving-site.ts'
import { decidedHere, mistakesHere, withoutRequestId } from './support/decided-here.ts'
import { blocksOf } from './support/doc-page.ts'
import { newTestRule } from './support/enrolment-rule.ts'
import { startGuardedSite } from './support/express-gateway.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { startSite } from './support/impostor.ts'
import { newKey } from './support/key.ts'
import { decisionCases, mistakeCases } from './support/policy-cases.ts'
import { pythonFor, startPythonSite } from './support/python.ts'
import {
  claimAgent,
  ROOT,
  run,
  startTestService,
  type TestService,
  tempDir,
} from './support/service.ts'
import { allOf, needs } from './support/tools.ts'

const PYTHON = pythonFor('cryptography')

test('Python and TypeScript agree about 1,000 requests and policies', PYTHON.options, async () => {
  const decisions = decisionCases(1_000)
  const mistakes = mistakeCases(1_000)
  const script = join(ROOT, 'python/tests/cross_language.py')
  const { code, stdout, stderr } = await run(
    PYTHON.path,
    [script],
    PYTHON.env,
    JSON.stringify({ decisions, mistakes }),
  )
  assert.equal(code, 0, stderr)
  const answers = JSON.parse(stdout)
  for (const [i, each] of decisions.entries()) {
    assert.equal(
      withoutRequestId(JSON.stringify(answers.decisions[i])),
      withoutRequestId(JSON.stringify(decidedHere(each))),
      JSON.stringify(each),
    )
  }
  for (const [i, each] of mistakes.entries()) {
    assert.deepEqual(answers.mistakes[i], mistakesHere(each), JSON.stringify(each))
  }
  // The cases reach what they are for.
  const actions = new Set(decisions.map((each) => decidedHere(each).decision.action))
  assert.deepEqual([...actions].toSorted(), ['allow', 'deny', 'flag', 'limit'])
  assert.ok(mistakes.filter((each) => mistakesHere(each).length > 0).length > 500)
})

const SUITE = pythonFor('cryptography', 'pytest')
const cleanup = fileCleanup()
const t = cleanup
let service: TestService

before(async () => {
  if (PYTHON.options.skip === false) service = await startTestService(t)
})
test("the package's own tests pass with a real service and gateway", SUITE.options, async () => {
  const tokens: string[] = []
  for (let i = 0; i < 8; i++) {
    // A new token of an owner replaces the former one.
    tokens.push(await service.operator.issueToken(await service.operator.addVerifiedOwner()))
  }
  const site = await startGuardedSite(t, service.url)
  const delegation = { maxDepth: 2, maxSeconds: 3_600, mcp: false }
  const delegates = await startGuardedSite(t, service.url, { cacheSeconds: 0, delegation })
  const delegating = newKey()
  const owner = await service.operator.addVerifiedOwner()
  await allowDelegation(service, owner, await claimAgent(service, owner, delegating), 2)
  const { rule, tokenFor } = await newTestRule(service)
  const enrolment = { rule: rule.id, token: await tokenFor(rule.audience) }
  const env = {
    ...SUITE.env,
    COUNTERSIGN_TEST_SERVICE: service.url,
    COUNTERSIGN_TEST_SITE: site.url,
    COUNTERSIGN_TEST_TOKENS: JSON.stringify(tokens),
    COUNTERSIGN_TEST_ENROLMENT: JSON.stringify(enrolment),
    COUNTERSIGN_TEST_DELEGATION: JSON.stringify({
      site: delegates.url,
      jwk: delegating.privateKey.export({ format: 'jwk' }),
    }),
    COUNTERSIGN_TEST_APPROVALS: JSON.stringify(await askableOwner()),
  }
  const args = ['-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', join(ROOT, 'python/tests')]
  const { code, stdout, stderr } = await run(SUITE.path, args, env)
  assert.equal(code, 0, stdout + stderr)
  assert.doesNotMatch(stdout, /needs a service/)
})

/** A site that requires approvals, an agent that may ask for them, and an address at which a test decides as its owner. */
async function askableOwner() {
  const world = await newApprovalWorld(service)
  await allowDelegation(service, world.owner.ownerId, world.did, 1)
  const { site } = await startApprovingSite(t, service, { approval: {}, delegation: {} })
  const acts: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    '/approve': async (id) => assert.equal((await approve(world, id)).status, 200),
    '/deny': async (id) => assert.equal((await deny(world, id)).status, 200),
    '/off': () => allowApprovals(world, false),
    '/on': () => allowApprovals(world),
  }
  const owner = await startSite(t, async ({ url = '' }, response) => {
    const [path = '', id = ''] = url.split('?')
    const done = await acts[path]?.(id).then(
      () => 200,
      () => 500,
    )
    response.writeHead(done ?? 404).end()
  })
  return { site, owner, jwk: world.key.privateKey.export({ format: 'jwk' }) }
}

const ADAPTERS = pythonFor('cryptography', 'requests', 'httpx')

test(
  'the agent of docs/python.md claims, calls and looks itself up',
  ADAPTERS.options,
  async () => {
    const site = await startGuardedSite(t, service.url)
    const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
    const cwd = tempDir(t)
    let did = 'svc:agent:…'
    const printed: string[] = []
    for (const { language, text, fate } of blocksOf('docs/python.md')) {
      if (language !== 'python' || fate?.kind !== 'run') continue
      const script = text
        .replaceAll('https://id.example', service.url)
        .replaceAll('https://shop.example', site.url)
        .replaceAll('"https://"', '"http://"')
        .replaceAll('svc-verify-…', token)
        .replaceAll('svc:agent:…', did)
      const { code, stdout, stderr } = await run(
        ...([ADAPTERS.path, ['-c', script], ADAPTERS.env, '', {}, cwd] as const),
      )
      assert.equal(code, 0, stderr)
      printed.push(...stdout.trim().split('\n'))
      did = printed[0] as string
    }
    assert.match(did, /^svc:agent:\w{24}$/)
    assert.deepEqual(printed.slice(1, 4), ['200', '200', 'True'])
  },
)

for (const kind of ['wsgi', 'asgi']) {
  test(
    `an agent in TypeScript is admitted by a Python site behind the ${kind.toUpperCase()} middleware, strangers are not`,
    PYTHON.options,
    async () => {
      const url = await startPythonSite(cleanup, PYTHON, [kind, service.url, 'signatures'])
      const { agent, did } = await signingAgent(service, [url])
      const got = await agent.fetch(`${url}/`)
      assert.equal(got.status, 200, await got.clone().text())
      const seen = (await got.json()) as { headers: Record<string, string> }
      assert.equal(Object.values(seen.headers).includes(did), true)
      const body = JSON.stringify({ item: 'é' })
      const posted = await agent.fetch(`${url}/orders?a=b`, { method: 'POST', body })
      assert.deepEqual(
        [posted.status, ((await posted.json()) as { body: string }).body],
        [200, body],
      )

      const named = await fetch(url, {
        headers: { ServiceID: did, 'X-ServiceID-Proof': 'signature' },
      })
      assert.equal(named.status, 401)
      const { error } = (await named.json()) as { error: { code: string; reasons: string[] } }
      assert.deepEqual([error.code, error.reasons[0]], ['UNAUTHENTICATED', 'proof-required'])
      assert.match(named.headers.get('accept-signature') ?? '', /web-bot-auth/)

      const signed = await agent.sign(`${url}/orders`, { method: 'POST', body: '1' })
      const send = (text: string) =>
        fetch(`${url}/orders`, { method: 'POST', headers: signed.headers, body: text })
      // The changed body uses the nonce up too.
      assert.equal((await send('2')).status, 401)
      assert.equal((await send('1')).status, 401)
      const again = await agent.sign(`${url}/orders`, { method: 'POST', body: '1' })
      const headers = [...again.headers]
      const statuses: number[] = []
      for (const path of ['/other', '/orders', '/orders']) {
        statuses.push((await fetch(url + path, { method: 'POST', headers, body: '1' })).status)
      }
      assert.deepEqual(statuses, [401, 200, 401])
    },
  )
}

for (const kind of ['wsgi', 'asgi']) {
  test(
    `a delegate in TypeScript is admitted by a Python site behind the ${kind.toUpperCase()} middleware, until the agent ends it`,
    PYTHON.options,
    async () => {
      const url = await startPythonSite(cleanup, PYTHON, [kind, service.url, 'delegates'])
      const other = await startPythonSite(cleanup, PYTHON, [kind, service.url, 'signatures'])
      const { agent, did, owner } = await signingAgent(service, [url])
      await allowDelegation(service, owner, did, 1)
      const signer = await newSigner()
      const origins = [url, other]
      const publicKey = Buffer.from(signer.publicKey).toString('base64')
      const { chain } = await agent.delegate({
        publicKey,
        origins,
        paths: ['/orders', '/orders/*'],
      })
      const worker = new DelegatedAgent({ chain, signer })
      const got = await worker.fetch(`${url}/orders/1`)
      assert.equal(got.status, 200, await got.clone().text())
      const seen = (await got.json()) as { did: string; headers: Record<string, string> }
      const keyid = keyThumbprint(signer.publicKey)
      assert.equal(seen.did, did)
      assert.ok(Object.values(seen.headers).includes(keyid))
      const forged = { headers: { 'X-ServiceID-Delegate': 'A'.repeat(43) } }
      const own = (await (await agent.fetch(`${url}/orders`, forged)).json()) as typeof seen
      assert.deepEqual(
        Object.keys(own.headers).filter((name) => /delegate/i.test(name)),
        [],
      )

      const codesOf = async (response: Response) =>
        [response.status, ((await response.json()) as Refused).error.reasons] as const
      const refused = await codesOf(await worker.fetch(`${other}/orders`))
      assert.deepEqual(refused, [403, ['delegation-refused', 'signature-proven']])
      await agent.endDelegations()
      const ended = await codesOf(await worker.fetch(`${url}/orders`))
      assert.deepEqual(ended, [401, ['certificate-replaced']])
    },
  )
}

interface Refused {
  readonly error: { readonly reasons: readonly string[] }
}

for (const kind of ['wsgi', 'asgi']) {
  test(
    `an agent in TypeScript follows a refusal of the ${kind.toUpperCase()} middleware to its sign-in endpoint, and is admitted by its session`,
    PYTHON.options,
    async () => {
      const url = await startPythonSite(cleanup, PYTHON, [kind, service.url, 'sessions'])
      const { agent, did } = await signingAgent(service, [url])
      const refused = await fetch(url, { headers: { ServiceID: did } })
      assert.equal(refused.status, 401)
      const challenge = 'ServiceID sign_in="/agent-sign-in", Bearer'
      assert.equal(refused.headers.get('www-authenticate'), challenge)
      const body = JSON.stringify({ item: 'é' })
      const posted = await agent.fetch(`${url}/orders?a=b`, { method: 'POST', body })
      const seen = (await posted.json()) as { did: string; proof: string; body: string }
      assert.deepEqual([posted.status, seen.proof, seen.body], [200, 'session', body])
      assert.equal(seen.did, did)

      const { token } = await agent.signIn(`${url}/agent-sign-in`)
      const send = (authorization: string, headers: Record<string, string> = {}) =>
        fetch(url, { headers: { authorization, ...headers } })
      assert.equal((await send(`Bearer ${token}`)).status, 200)
      assert.equal((await send(`Bearer ${token}x`)).status, 401)
      const other = await signingAgent(service)
      assert.equal((await send(`Bearer ${token}`, { ServiceID: other.did })).status, 401)
      const large = { method: 'POST', body: JSON.stringify({ publicKey: 'x'.repeat(16_384) }) }
      const json = { 'content-type': 'application/json' }
      assert.equal((await fetch(`${url}/agent-sign-in`, { ...large, headers: json })).status, 413)
    },
  )
}

test('the wheel is reproducible, with the digest of every file', PYTHON.options, async () => {
  const [dir, other] = [tempDir(t), tempDir(t)]
  const packed = packPython(dir)
  assert.deepEqual(packPython(other), packed)
  const [wheel, sdist] = packed.map(({ file }) => join(dir, file)) as [string, string]
  const ran = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(PYTHON.path, args, {})
    assert.equal(code, 0, stdout + stderr)
    return stdout
  }
  assert.match(await ran('-m', 'zipfile', '-t', wheel), /Done testing/)
  assert.match(await ran('-c', CHECK_RECORD, wheel), /^[1-9]\d* files\n$/)
  const listed = await ran('-m', 'tarfile', '-l', sdist)
  for (const name of ['PKG-INFO', 'pyproject.toml', 'README.md', 'src/countersign/py.typed']) {
    assert.match(listed, new RegExp(`^countersign-[\\d.]+/${name} *$`, 'm'))
  }
  // Without pip, Python's reader of archives has to do.
  const hasPip = PIP.options.skip === false
  const target = join(dir, 'target')
  const install = ['-m', 'pip', 'install', '--no-deps', '--no-index', '--target', target, wheel]
  await (hasPip ? ran(...install) : ran('-m', 'zipfile', '-e', wheel, target))
  const script =
    'import countersign; print(countersign.Agent.__module__, countersign.Registry.__module__)'
  const imported = await run(PYTHON.path, ['-c', script], { PYTHONPATH: target })
  assert.equal(imported.stdout, 'countersign.agent countersign.registry\n', imported.stderr)
})

const PIP = pythonFor('pip')

test('pip builds the same wheel of both sources without a network', PIP.options, async () => {
  const [dir, made, rebuilt] = [tempDir(t), tempDir(t), tempDir(t)]
  const [wheel, sdist] = packPython(dir).map(({ file }) => join(dir, file)) as [string, string]
  const folder = join(dir, 'python')
  cpSync(join(ROOT, 'python'), folder, { recursive: true })
  cpSync(join(ROOT, 'LICENSE'), join(dir, 'LICENSE'))
  const again = `import build_backend; build_backend.build_sdist(${JSON.stringify(rebuilt)})`
  const packed = await run(PIP.path, ['-c', again], PIP.env, '', {}, folder)
  assert.equal(packed.code, 0, packed.stderr)
  for (const source of [sdist, folder, join(rebuilt, basename(sdist))]) {
    const args = ['-m', 'pip', 'wheel', '--no-index', '--no-deps', '--wheel-dir', made, source]
    const { code, stdout, stderr } = await run(PIP.path, args)
    assert.equal(code, 0, stdout + stderr)
    const compared = await run(PIP.path, [
      ...['-c', SAME_FILES, wheel],
      join(made, basename(wheel)),
    ])
    assert.equal(compared.stdout, 'same\n', compared.stderr)
  }
  const target = join(dir, 'target')
  const install = ['-m', 'pip', 'install', '--no-deps', '--no-index', '--target', target, sdist]
  const installed = await run(PIP.path, install)
  assert.equal(installed.code, 0, installed.stdout + installed.stderr)
  assert.ok(existsSync(join(target, 'countersign/py.typed')))
})

/** What mypy knows of the standard library; it compares the sources with it. */
const MYPY_CACHE = join(ROOT, 'node_modules/.cache/mypy')

test('the package passes mypy --strict', needs('mypy'), async () => {
  const settings = join(ROOT, 'python/pyproject.toml')
  const sources = join(ROOT, 'python/src/countersign')
  const args = ['--strict', '--config-file', settings, '--cache-dir', MYPY_CACHE, sources]
  const { code, stdout, stderr } = await run('mypy', args)
  assert.equal(code, 0, stdout + stderr)
})

/** What a user writes: every field of a result has a type. */
const TYPED_PROGRAM = `
from typing import List, Optional

import countersign
from countersign import Agent, AgentKey, Card, Lookup, Registry, Verification
from countersign.requests import signing_session

registry: Registry = Registry("https://id.example")
agent = Agent(registry, AgentKey.generate(), audiences=["https://shop.example"], unlisted="plain")
lookup: Lookup = registry.lookup("svc:agent:x")
status: str = lookup["certificate"]["status"]
level: Optional[str] = lookup["owner"]["identityMethod"]
card: Card = registry.card("svc:agent:x")
handles: List[str] = [each["handleOrDomain"] for each in card["channels"]]
sequence: int = agent.whoami()["keySequence"] + registry.keys("svc:agent:x")["keySequence"]
step = registry.grade("svc:agent:x")["next"]
better: str = "" if step is None else step["step"]
proven: Verification = registry.verify("k", "c", "s")
did: str = proven["agent"]["did"]
changed: str = agent.rotate(AgentKey.generate())["keyChangedAt"]
states: List[str] = [key["state"] for key in agent.report_key()["keys"]]
version: str = countersign.__version__
pending = agent.request_approval("POST", "https://shop.example/orders", message="Paper")
approve_url: str = pending.approve_url
token: str = pending.wait(timeout=60)
with signing_session(agent, approval=countersign.ApprovalOptions("Paper")) as session:
    session.get("https://shop.example")
`

test(
  'a program that uses the installed package passes mypy --strict, and its mistakes do not',
  allOf(needs('mypy'), PYTHON.options),
  async () => {
    const dir = tempDir(t)
    const [wheel] = packPython(dir).map(({ file }) => join(dir, file)) as [string]
    const ran = async (command: string, ...args: string[]) => {
      const { code, stdout, stderr } = await run(command, args, {}, '', {}, dir)
      return { code, text: stdout + stderr }
    }
    assert.equal((await ran(PYTHON.path, '-m', 'venv', '--without-pip', 'venv')).code, 0)
    const [packages = ''] = globSync('venv/lib/python*/site-packages', { cwd: dir })
    await ran(PYTHON.path, '-m', 'zipfile', '-e', wheel, packages)
    const check = (program: string) => {
      writeFileSync(join(dir, 'program.py'), program)
      const args = ['--strict', '--ignore-missing-imports', '--cache-dir', MYPY_CACHE]
      const python = ['--python-executable', join(dir, 'venv/bin/python')]
      return ran('mypy', ...args, ...python, 'program.py')
    }
    const { code, text } = await check(TYPED_PROGRAM)
    assert.equal(code, 0, text)
    const wrong = TYPED_PROGRAM.replace('["status"]', '["state"]')
    assert.match((await check(wrong)).text, /TypedDict "Certificate" has no key "state"/)
  },
)

test('the wheel declares its extras and the package its version', PYTHON.options, async () => {
  const dir = tempDir(t)
  const [{ file, version } = assert.fail('no wheel')] = packPython(dir)
  await run(PYTHON.path, ['-m', 'zipfile', '-e', join(dir, file), join(dir, 'target')])
  const script = `import countersign, importlib.metadata as m
print(countersign.__version__, sorted(m.metadata("countersign").get_all("Provides-Extra")))
print([each for each in m.requires("countersign") if "extra" in each])`
  const { stdout, stderr } = await run(PYTHON.path, ['-c', script], {
    PYTHONPATH: join(dir, 'target'),
  })
  const extras = `['requests>=2.28; extra == "requests"', 'httpx>=0.23; extra == "httpx"', 'anyio>=3; extra == "httpx"']`
  assert.equal(stdout, `${version} ['httpx', 'requests']\n${extras}\n`, stderr)
})

const SAME_FILES = `
import sys, zipfile
def files(path):
    wheel = zipfile.ZipFile(path)
    return {name: wheel.read(name) for name in wheel.namelist()}
one, other = map(files, sys.argv[1:])
assert one == other, [name for name in {*one, *other} if one.get(name) != other.get(name)]
print("same")
`

/** Compares the files of a wheel with its RECORD. */
const CHECK_RECORD = `
import base64, csv, hashlib, io, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(each for each in wheel.namelist() if each.endswith(".dist-info/RECORD"))
rows = {path: (digest, size) for path, digest, size in csv.reader(io.StringIO(wheel.read(record).decode()))}
assert sorted(rows) == sorted(wheel.namelist()) and rows[record] == ("", "")
for path, (digest, size) in rows.items():
    if path != record:
        data = wheel.read(path)
        wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, size) == ("sha256=" + wanted, str(len(data))), path
print(len(rows), "files")
`
