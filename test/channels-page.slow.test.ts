import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { OwnerChannel, RuntimeProof } from '@countersign/protocol'
import { readSettings } from '../packages/server/src/base/config.ts'
import { jsonOf } from './support/answer.ts'
import { DocPage } from './support/doc-page.ts'
import {
  type Cleanup,
  claimAgent,
  openOperator,
  ROOT,
  startServiceProcess,
  startTestService,
  type TestService,
  tempDir,
} from './support/service.ts'
import { type Shell, shellInCheckout } from './support/shell.ts'
import { type SignedInOwner, signIn } from './support/signed-in.ts'
import { needs } from './support/tools.ts'

const PAGE = new DocPage('docs/channels.md', import.meta.filename)

interface Begun {
  readonly service: TestService
  readonly shell: Shell
  readonly owner: SignedInOwner
  readonly did: string
  readonly channel: OwnerChannel
}

/** An agent with its key in agent.pem in the shell's directory, whose owner has added its runtime channel. */
async function beginRuntime(t: Parameters<typeof startTestService>[0]): Promise<Begun> {
  const service = await startTestService(t)
  const { url: URL, env } = service
  const shell = shellInCheckout(tempDir(t), {
    ...env,
    URL,
    COUNTERSIGN_URL: URL,
    COUNTERSIGN_KEY: 'agent.pem',
  })
  t.after(() => shell.close())
  await shell.run('openssl genpkey -algorithm ed25519 -out agent.pem && chmod 600 agent.pem')
  const ownerId = await service.operator.addVerifiedOwner()
  const token = await service.operator.issueToken(ownerId)
  const { did } = JSON.parse(await shell.run(`npx countersign claim ${token} --json`))
  const owner = await signIn(service, ownerId)
  const channel = await add(owner, did, 'runtime', 'home-server')
  return { service, shell, owner, did, channel }
}

async function add(
  owner: SignedInOwner,
  did: string,
  kind: string,
  handleOrDomain: string,
): Promise<OwnerChannel> {
  const answer = await owner.post(`/api/account/agents/${did}/channels`, { kind, handleOrDomain })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<OwnerChannel>(answer)
}

test('the commands of docs/channels.md prove a runtime', needs('openssl', 'curl'), async (t) => {
  const { service, shell, did } = await beginRuntime(t)
  const here = (commands: string) => commands.replaceAll('http://localhost:8080', service.url)
  const said = await shell.run(here(PAGE.take('Runtime, by the command')))
  assert.match(said, /^home-server is verified until /)
  const answer: RuntimeProof = JSON.parse(
    await shell.run(here(PAGE.take('Runtime, with openssl and curl'))),
  )
  assert.deepEqual([answer.svcDid, answer.handleOrDomain], [did, 'home-server'])
})

test('the commands that are copied prove a runtime', needs('openssl', 'curl'), async (t) => {
  const { shell, owner, did, channel } = await beginRuntime(t)
  const copied = (id: string) =>
    channel.proof?.methods.find((each) => each.id === id)?.fields[0]?.value as string
  const answer: RuntimeProof = JSON.parse(await shell.run(copied('http')))
  assert.deepEqual([answer.svcDid, answer.grade], [did, 'B'])

  await owner.send('DELETE', `/api/account/agents/${did}/channels/${channel.id}`)
  await add(owner, did, 'runtime', 'eu-west-1')
  assert.match(await shell.run(copied('command')), /^eu-west-1 is verified until /)
})

test('the commands of docs/channels.md prove a domain', needs('openssl'), async (t) => {
  const commands = PAGE.take('A domain on your own machine')
  const [, domain = '', site = ''] =
    /^npx node tools\/dev-outside\.ts (\S+) (\S+) > outside\.env$/m.exec(
      commands,
    ) as RegExpExecArray
  const dir = tempDir(t)
  const shell = shellInCheckout(dir, {})
  t.after(() => shell.close())
  await shell.run(commands.split('\n')[0] as string)
  const service = await startServiceProcess(t, await startOutside(t, dir, domain, site))
  const settings = readSettings(service.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const known = {
    ...service,
    settings,
    operator,
    tick: () => undefined,
    stop: async () => undefined,
  }
  const ownerId = await operator.addVerifiedOwner()
  const did = await claimAgent(known, ownerId)
  const owner = await signIn(known, ownerId)
  const { id, proof } = await add(owner, did, 'domain', domain)
  const file = proof?.methods.find((each) => each.id === 'file')
  const line = file?.fields.find(({ label }) => label === 'Line')?.value as string
  writeFileSync(join(dir, site, '.well-known/svc-challenge.txt'), `${line}\n`)

  const checked = await owner.post(`/api/account/agents/${did}/channels/${id}/check`)

  assert.equal(jsonOf<OwnerChannel>(checked).state, 'verified', checked.text)
  PAGE.assertAllTaken()
})

/** Runs the tool until the end of the test. @returns the settings that it prints */
async function startOutside(
  t: Cleanup,
  cwd: string,
  ...args: string[]
): Promise<Record<string, string>> {
  const tool = spawn(process.execPath, [join(ROOT, 'tools/dev-outside.ts'), ...args], { cwd })
  t.after(() => tool.kill('SIGTERM'))
  let printed = ''
  for await (const chunk of tool.stdout) {
    printed += chunk
    if (/^NODE_EXTRA_CA_CERTS=.*\n/m.test(printed)) break
  }
  const lines = printed.trim().split('\n')
  assert.equal(lines.length, 3, printed)
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/).slice(0, 2)))
}
