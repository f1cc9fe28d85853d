import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { type Line, startImpostor } from '../../../../test/support/impostor.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { gcpToken, githubActionsToken, tokenFile } from '../../src/node/token-sources.ts'
import { failsWith } from '../support/fails.ts'

const AUDIENCE = 'https://id.example/enrol/er_1/key'
const ENCODED = encodeURIComponent(AUDIENCE)
const SECRET = 'header.payload.signature'

/** Sets environment variables for the duration of a test. */
function setEnvironment(t: TestContext, values: Readonly<Record<string, string | undefined>>) {
  for (const [name, value] of Object.entries(values)) {
    const former = process.env[name]
    t.after(() => setVariable(name, former))
    setVariable(name, value)
  }
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

test('GitHub Actions is asked for the audience, with the bearer token of the job', async (t) => {
  const github = await startImpostor(t, { body: { value: SECRET } })
  setEnvironment(t, {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${github.url}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'bearer',
  })
  assert.equal(await githubActionsToken()(AUDIENCE), SECRET)
  const { url, headers } = github.asked[0] as IncomingMessage
  assert.deepEqual(
    [url, headers.authorization],
    [`/token?api-version=2.0&audience=${ENCODED}`, 'Bearer bearer'],
  )
  for (const address of [undefined, 'http://github.example/token', 'no address']) {
    setVariable('ACTIONS_ID_TOKEN_REQUEST_URL', address)
    await failsWith('NO_PLATFORM_TOKEN', githubActionsToken()(AUDIENCE))
  }
})

test('the metadata server of Google Cloud is asked for a full token', async (t) => {
  const google = await startImpostor(t, { body: `${SECRET}\n` })
  setEnvironment(t, { GCE_METADATA_HOST: new URL(google.url).host })
  assert.equal(await gcpToken()(AUDIENCE), SECRET)
  const { url, headers } = google.asked[0] as IncomingMessage
  const path = '/computeMetadata/v1/instance/service-accounts/default/identity'
  assert.equal(url, `${path}?audience=${ENCODED}&format=full`)
  assert.equal(headers['metadata-flavor'], 'Google')
})

test('sources follow no redirect, and repeat no response', async (t) => {
  const thief = await startImpostor(t, { body: SECRET })
  const lines: Line[] = [
    { status: 302, headers: { location: thief.url } },
    { status: 403, body: SECRET },
    { body: `{"value":"${SECRET}` },
    { body: { value: 1 } },
    { body: 'x'.repeat(65_537) },
    { instead: 'drop' },
  ]
  setEnvironment(t, {
    ACTIONS_ID_TOKEN_REQUEST_URL: undefined,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'bearer',
  })
  for (const line of lines) {
    const github = await startImpostor(t, line)
    setVariable('ACTIONS_ID_TOKEN_REQUEST_URL', github.url)
    const error = await failsWith('NO_PLATFORM_TOKEN', githubActionsToken()(AUDIENCE))
    assert.doesNotMatch(inspect(error, { depth: 9 }), /payload|Bearer bearer/)
  }
  assert.equal(thief.asked.length, 0)
})

test('a file is read each time', async (t) => {
  const path = join(tempDir(t), 'token')
  const source = tokenFile(path)
  const error = await failsWith('NO_PLATFORM_TOKEN', source(AUDIENCE))
  assert.match(error.message, /ENOENT/)
  for (const token of ['a.b.c', 'd.e.f']) {
    writeFileSync(path, `${token}\n`)
    assert.equal(await source(AUDIENCE), token)
  }
})
