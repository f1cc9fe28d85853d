import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Agent, agentSignIn, newKey, Registry } from '@countersign/sdk'
import { DocPage } from './support/doc-page.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { freePort } from './support/ports.ts'
import { rotateKey } from './support/rotate-key.ts'
import { ROOT, startTestService, type TestService, tempDir } from './support/service.ts'
import { setStatus } from './support/set-status.ts'
import { needs } from './support/tools.ts'
import { until } from './support/until.ts'

const PAGE = new DocPage('docs/sessions.md', import.meta.filename)
const SECRET = 'a secret of at least thirty-two bytes'
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})
interface Recipe {
  readonly tool: 'python3' | 'ruby' | 'php'
  readonly module: string
  readonly site: string
  readonly language: 'python' | 'ruby' | 'php'
}

const RECIPES: readonly Recipe[] = [
  {
    tool: 'python3',
    module: 'agent_sessions.py',
    site: 'site.py',
    language: 'python',
  },
  { tool: 'ruby', module: 'agent_sessions.rb', site: 'site.rb', language: 'ruby' },
  { tool: 'php', module: 'agent_sessions.php', site: 'site.php', language: 'php' },
]

/** Writes the code of the page beside a small server, and starts it. @returns its origin */
async function startRecipe({ tool, module, site, language }: Recipe, code: string) {
  const dir = tempDir(cleanup)
  assert.match(code.split('\n', 1)[0] ?? '', new RegExp(module), language)
  writeFileSync(join(dir, module), code)
  copyFileSync(join(ROOT, 'test/support/session-sites', site), join(dir, site))
  const port = tool === 'php' ? await freePort('127.0.0.1') : null
  const args = port === null ? [site] : ['-S', `127.0.0.1:${port}`, site]
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    AGENT_SERVICE: service.url,
    SESSION_SECRET: SECRET,
    ...(port !== null && { AGENT_AUDIENCE: `http://127.0.0.1:${port}` }),
  }
  const child = spawn(tool, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  cleanup.after(() => stop(child))
  if (port === null) {
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    assert.ok(Number(line) > 0, errors)
    return `http://127.0.0.1:${Number(line)}`
  }
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    assert.equal(child.exitCode, null, errors)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return url
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function answerOf(sent: Promise<Response>) {
  const response = await sent
  const body = (await response.json()) as { error?: { code: string } } & Record<string, unknown>
  return { status: response.status, body, code: body?.error?.code }
}

for (const recipe of RECIPES) {
  const code = PAGE.take('Recipes', recipe.language)
  test(
    `${recipe.language}: agents sign in, and the session ends with the key`,
    needs(recipe.tool),
    async () => {
      const url = await startRecipe(recipe, code)
      const registry = new Registry(service.url)
      const agent = new Agent({ registry, signer: await newKey(), audiences: [url] })
      const owner = await service.operator.addVerifiedOwner()
      const { did } = await agent.claim(await service.operator.issueToken(owner))
      const whoami = async () => {
        const { status, body } = await answerOf(agent.fetch(url))
        assert.equal(status, 200)
        return body
      }
      assert.equal((await whoami()).sub, did)

      const endpoint = `${url}/agent-sign-in`
      const challenge = async () => String((await answerOf(fetch(endpoint))).body.challenge)
      const headers = { 'content-type': 'application/json' }
      const post = (body: unknown) =>
        answerOf(
          fetch(endpoint, {
            method: 'POST',
            headers,
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
        )
      const answer = await agent.answer(await challenge(), { audience: url })
      const signedIn = await post(answer)
      assert.deepEqual([signedIn.status, signedIn.body.did], [200, did])
      const token = String(signedIn.body.token)
      const own = agentSignIn({ registry, audience: url, secret: SECRET })
      const claims = await own.session(token)
      assert.deepEqual([claims?.did, claims?.keySequence], [did, 1])
      assert.equal(claims?.expiresAt, Date.parse(String(signedIn.body.expiresAt)))

      const other = await agent.answer(await challenge(), { audience: url })
      const invented = `svc-challenge-v1:${url}:${'n'.repeat(32)}`
      const refusals: [unknown, number, string][] = [
        [answer, 401, 'CHALLENGE_SPENT'],
        [await agent.answer(invented, { audience: url }), 401, 'CHALLENGE_SPENT'],
        [
          { ...other, challenge: other.challenge.replace(url, 'https://bank.example') },
          401,
          'CHALLENGE_SPENT',
        ],
        [{ ...other, signature: answer.signature }, 401, 'INVALID_SIGNATURE'],
        ['{', 400, 'VALIDATION_ERROR'],
        ['[]', 400, 'VALIDATION_ERROR'],
        [{ ...other, signature: 7 }, 400, 'VALIDATION_ERROR'],
        ['x'.repeat(16_385), 413, 'PAYLOAD_TOO_LARGE'],
      ]
      for (const [body, status, expected] of refusals) {
        const refused = await post(body)
        assert.deepEqual([refused.status, refused.code], [status, expected])
      }
      const stranger = new Agent({ registry, signer: await newKey() })
      const unknown = await post(await stranger.answer(await challenge(), { audience: url }))
      assert.deepEqual([unknown.status, unknown.code], [403, 'NOT_ADMITTED'])

      const statusOf = async (authorization: string) =>
        (await fetch(url, { headers: { authorization } })).status
      assert.equal(await statusOf(`Bearer ${token}`), 200)
      const forged = agentSignIn({ registry, audience: url, secret: 'x'.repeat(32) })
      const wrong = await forged.complete(
        await agent.answer(await forged.begin(), { audience: url }),
      )
      const elsewhere = agentSignIn({ registry, audience: 'https://bank.example', secret: SECRET })
      const foreign = await elsewhere.complete(
        await agent.answer(await elsewhere.begin(), { audience: 'https://bank.example' }),
      )
      for (const each of ['', 'x', `${token}x`, `${token}.x`, wrong.token, foreign.token]) {
        assert.equal(await statusOf(`Bearer ${each}`), 401)
      }
      const next = await newKey()
      await rotateKey(service, did, next.publicKey)
      assert.equal(await statusOf(`Bearer ${token}`), 401)
      agent.useKey(next)
      assert.equal((await whoami()).keySequence, 2)
      await setStatus(service, did, 'revoked')
      assert.equal((await fetch(url)).status, 401)
    },
  )
}

test('every block of the page that names this test is run', () => {
  PAGE.assertAllTaken()
})
