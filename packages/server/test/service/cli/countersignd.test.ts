import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ON_POSTGRES, query } from '../../../../../test/support/postgres.ts'
import { run } from '../../../../../test/support/run.ts'
import {
  COUNTERSIGND,
  claimAgent,
  countersignd,
  ROOT,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'

const COUNTERSIGN = join(ROOT, 'packages/cli/bin/countersign.mjs')
const TOKEN = /^svc-verify-[0-9a-f]{32}\n$/

test('token issue prints only the token on standard output', async (t) => {
  const env = await testEnv(t)
  await done(env, 'owner', 'add', 'ada', '--name', 'Ada')
  await done(env, 'owner', 'verify', 'ada', '--provider', 'in-person')
  assert.match(await done(env, 'token', 'issue', 'ada'), TOKEN)
  const json = JSON.parse(await done(env, 'token', 'issue', 'ada', '--json'))
  assert.deepEqual(Object.keys(json), ['claimToken', 'expiresAt'])
})

test('an owner without identity verification gets no token: exit 4', async (t) => {
  const env = await testEnv(t)
  await done(env, 'owner', 'add', 'ada', '--name', 'Ada')
  await refused(env, 4, /no current identity verification/, 'token', 'issue', 'ada')
})

test('a verification without --assurance is substantial, and can be raised and revoked', async (t) => {
  const env = await testEnv(t)
  await done(env, 'owner', 'add', 'ada', '--name', 'Ada Lovelace')
  await done(env, 'owner', 'verify', 'ada', '--provider', 'in-person')
  const owner = async () => JSON.parse(await done(env, 'owner', 'list', '--json'))[0]
  assert.equal((await owner()).verifications[0].assurance, 'substantial')
  await done(env, 'owner', 'verify', 'ada', '--provider', 'in-person', '--assurance', 'high')
  assert.equal((await owner()).verifications.length, 1)
  assert.equal((await owner()).verifications[0].assurance, 'high')
  const unverify = ['owner', 'unverify', 'ada', '--provider', 'in-person']
  await done(env, ...unverify)
  assert.deepEqual((await owner()).verifications, [])
  await refused(env, 3, /no verification by in-person/, ...unverify)
})

test('wrong usage exits with 2 and prints the usage', async (t) => {
  const env = await testEnv(t)
  await done(env, 'owner', 'add', 'ada', '--name', 'Ada')
  const verify = 'owner verify ada --provider'
  for (const [command, message] of [
    ['owner add ada --name Ada', /username ada is taken/],
    ['owner add A --name Ada', /3 to 32 characters/],
    ['owner add bob', /--name/],
    [`${verify} guess`, /Allowed choices/],
    [`${verify} in-person --assurance x`, /Allowed choices/],
    [`${verify} in-person --expires soon`, /ISO 8601/],
    ['nonsense', /unknown command/],
  ] as const)
    await refused(env, 2, message, ...command.split(' '))
  await refused(env, 2, /1 to 64 characters/, 'owner', 'add', 'bob', '--name', ' ')
  await refused(env, 3, /no owner nobody/, 'token', 'issue', 'nobody')
})

test('a HOST that does not resolve and a DATA_DIR that cannot be one are refused at once, by name', async (t) => {
  const env = await testEnv(t)
  await refused(
    { ...env, HOST: 'a..b' },
    2,
    /HOST must be .* does not resolve \(ENOTFOUND\)/,
    'serve',
  )
  const file = join(tempDir(t), 'file')
  writeFileSync(file, '')
  const wrong = /DATA_DIR must be a directory that this user can write to, or create/
  await refused({ ...env, DATA_DIR: file }, 2, wrong, 'serve')
  await refused({ ...env, DATA_DIR: join(file, 'data'), WORKERS: '2' }, 2, wrong, 'serve')
})

test('a reader that stops reading gets no stack trace', async () => {
  for (const command of [COUNTERSIGND, COUNTERSIGN]) {
    const child = spawn(process.execPath, [command, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    const stderr = text(child.stderr)
    const [code] = await once(child, 'exit')
    assert.deepEqual({ code, stderr: await stderr }, { code: 0, stderr: '' }, command)
  }
})

test('--help explains the command and each subcommand', async (t) => {
  const env = await testEnv(t)
  const help = await done(env, '--help')
  for (const word of [
    'serve',
    'migrate',
    'owner',
    'token',
    'agent',
    'backup',
    'restore',
    'doctor',
    'Exit codes',
  ]) {
    assert.ok(help.includes(word), word)
  }
  assert.match(await done(env, 'agent', 'revoke', '--help'), /revoke a certificate permanently/)
})

test('agents can be listed, suspended, reactivated and revoked', async (t) => {
  const service = await startTestService(t)
  const { env, operator } = service
  const did = await claimAgent(service, await operator.addVerifiedOwner('ada'))
  const other = await claimAgent(service, await operator.addVerifiedOwner('bob'))
  const list = async (...args: string[]) =>
    JSON.parse(await done(env, 'agent', 'list', '--json', ...args))
  assert.deepEqual(
    (await list()).map((each: { did: string }) => each.did),
    [did, other],
  )
  assert.deepEqual(
    (await list('--owner', 'bob')).map((each: { did: string }) => each.did),
    [other],
  )
  await refused(env, 3, /no owner eve/, 'agent', 'list', '--owner', 'eve')

  await done(env, 'agent', 'suspend', did, '--reason', 'under_review')
  assert.equal((await list())[0].statusReason, 'under_review')
  await done(env, 'agent', 'reactivate', did.slice(-24))
  await done(env, 'agent', 'revoke', did)
  assert.equal((await list())[0].status, 'revoked')
  await refused(env, 2, /revoked cannot become active/, 'agent', 'reactivate', did)
  await refused(env, 3, /no agent with this DID/, 'agent', 'revoke', '1'.repeat(24))
  await refused(env, 2, /A DID is svc:agent:/, 'agent', 'revoke', 'nonsense')
  await refused(env, 2, /A reason is a word/, 'agent', 'suspend', other, '--reason', 'Two Words')
})

test('migrate prints what it applied, and the second time that there is nothing to do', async (t) => {
  const env = await testEnv(t)
  // A database of a test comes migrated.
  if (ON_POSTGRES)
    await query(env.DATABASE_URL as string, 'drop schema public cascade; create schema public')
  assert.match(await done(env, 'migrate'), /Applied 0001-schema/)
  assert.match(await done(env, 'migrate'), /Nothing to do/)
})

test('compiled code is cached for the next start in NODE_COMPILE_CACHE', async (t) => {
  const env = { ...(await testEnv(t)), NODE_COMPILE_CACHE: tempDir(t) }
  for (const _ of [1, 2]) {
    const { code, stderr } = await run(process.execPath, [COUNTERSIGND, 'owner', 'list'], env)
    assert.equal(code, 0, stderr)
    assert.equal(readdirSync(env.NODE_COMPILE_CACHE).length, 1)
  }
})

test('an older Node exits with 2 and prints the required version', async () => {
  const older =
    'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"22.9.0"}})'
  const { code, stderr } = await run(process.execPath, ['--import', older, COUNTERSIGND, '--help'])
  assert.equal(code, 2)
  assert.match(stderr, /^countersignd needs Node\.js 24\.19 or later/)
})

async function done(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await countersignd(env, ...args)
  assert.equal(code, 0, stderr)
  return stdout
}

async function refused(
  env: Record<string, string>,
  exit: number,
  message: RegExp,
  ...args: string[]
): Promise<void> {
  const { code, stdout, stderr } = await countersignd(env, ...args)
  assert.match(stderr, message)
  assert.equal(code, exit, stderr)
  assert.equal(stdout, '')
}
