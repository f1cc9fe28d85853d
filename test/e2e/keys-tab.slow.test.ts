import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEY_UNKNOWN_AFTER_RESTORE, keyThumbprint } from '@countersign/protocol'
import type { Page } from 'playwright-core'
import { changeAgent } from '../../packages/server/src/agents/changes/change-agent.ts'
import { setStatus as setAgentStatus } from '../../packages/server/src/agents/changes/set-status.ts'
import {
  AGENTS,
  historyOf,
  keysOf,
  recoverWith,
} from '../../packages/server/test/agents/keys/with-keys.ts'
import { jsonOf } from '../support/answer.ts'
import { ask } from '../support/ask.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { leaveUncompared } from '../support/changes-complete.ts'
import { dismissToast, openTab, openWithCookie } from '../support/dashboard.ts'
import { newKey, type TestKey } from '../support/key.ts'
import { renounceWith, rotateTo } from '../support/key-operations.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
  tempDir,
} from '../support/service.ts'
import { setStatus } from '../support/set-status.ts'
import { shellInCheckout } from '../support/shell.ts'
import { signInBy } from '../support/sign-in-by.ts'
import type { SignedInOwner } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

interface Scene {
  readonly service: TestService
  readonly owner: SignedInOwner
  readonly page: Page
  readonly problems: readonly string[]
  readonly key: TestKey
  readonly did: string
}

/** An agent's Keys tab, for an owner whose sign-in is enough for a recovery. */
async function scene(t: Cleanup, env: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const service = await startTestService(t, env)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const owner = await signInBy(service, ownerId, Date.now)
  const key = newKey()
  const did = await claimAgent(service, ownerId, key, 'main')
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/agents/${did}/keys`)
  await page.getByText(thumbprint(key)).first().waitFor()
  return { service, owner, page, problems, key, did }
}

const thumbprint = ({ publicKey }: TestKey) => keyThumbprint(Buffer.from(publicKey, 'base64'))
const assertFitNow = (page: Page) => assertFit(page, () => page.waitForLoadState('networkidle'))

async function statusOf(service: TestService, did: string): Promise<unknown> {
  return jsonOf(await ask(service, `/api/agents/${did}`)).status
}

test('an owner starts, follows and cancels a recovery of a lost key', BROWSER_MATRIX, async (t) => {
  const { service, page, problems, did } = await scene(t)
  await assertFitNow(page)
  await page.getByRole('button', { name: 'Recover the lost key …' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Recover the lost key?' })
  await dialog.getByText('takes effect 72 hours after that').waitFor()
  await assertFitNow(page)
  assert.equal((await keysOf(service, did)).recovery, null)
  await dialog.getByRole('button', { name: 'Start the recovery' }).click()

  const pending = page.getByRole('region', { name: 'Pending recovery' })
  const token = await pending.getByText(/^svc-recover-[0-9a-f]{32}$/).innerText()
  await pending.getByRole('timer', { name: 'Time left' }).waitFor()
  const command = pending.locator('code').filter({ hasText: '.tgz recover' })
  for (const part of [did, token, service.url])
    assert.ok((await command.innerText()).includes(part))
  assert.equal((await keysOf(service, did)).recovery?.reason, 'key_lost')
  assert.equal(await page.getByRole('button', { name: 'Recover the lost key …' }).count(), 0)
  await dismissToast(page, 'Recovery started.')
  await assertFitNow(page)

  await pending.getByRole('button', { name: 'Create a fresh token' }).click()
  await pending.getByText(token).first().waitFor({ state: 'hidden' })
  const fresh = await pending.getByText(/^svc-recover-[0-9a-f]{32}$/).innerText()
  const next = newKey()
  const early = await recoverWith(service, did, { token, next, sequence: 2 })
  assert.equal(early.status, 404)
  await recoverWith(service, did, { token: fresh, next, sequence: 2 })
  await pending.getByText(thumbprint(next)).waitFor()
  assert.match(await pending.getByRole('timer').innerText(), /^2 days 23 hours$|^3 days/)
  assert.equal(await pending.getByText(fresh).count(), 0)
  await assertFitNow(page)

  await openTab(page, 'Overview')
  await page.getByText('A recovery of this agent’s key is pending.').waitFor()
  await page.getByRole('link', { name: 'Show the recovery' }).click()
  await pending.getByRole('button', { name: 'Cancel the recovery …' }).click()
  await page.getByRole('button', { name: 'Cancel the recovery', exact: true }).click()
  await page.getByRole('button', { name: 'Recover the lost key …' }).waitFor()
  assert.equal((await keysOf(service, did)).recovery, null)
  assert.equal(await statusOf(service, did), 'active')
  assert.deepEqual(problems, [])
})

test('an owner contests a rotation, and recovers by the command', BROWSER_MATRIX, async (t) => {
  const { service, page, problems, did, key } = await scene(t, { RECOVERY_DELAY: '0' })
  assert.equal(await page.getByRole('button', { name: 'Contest …' }).count(), 0)
  const stolen = newKey()
  const rotated = await rotateTo(service, did, { old: key, next: stolen, sequence: 2 })
  assert.equal(rotated.status, 200)

  await t.test('the page shows the rotation by itself', async () => {
    await page.getByText(thumbprint(stolen)).first().waitFor()
    await page.getByRole('button', { name: 'Contest …' }).click()
    await page.getByRole('radio', { name: 'Somebody else had key 1' }).waitFor()
    await assertFitNow(page)
  })

  await t.test('a contest burns the keys and suspends the agent', async () => {
    await page.getByRole('button', { name: 'Report as stolen', exact: true }).click()
    await page.getByRole('button', { name: 'Recover the agent …' }).waitFor()
    const history = [
      [1, 'compromised', 'claim'],
      [2, 'compromised', 'rotation'],
    ]
    assert.deepEqual(await historyOf(service, did), history)
    assert.equal(await statusOf(service, did), 'suspended')
    await assertFitNow(page)
  })

  await t.test('the command gives the agent a new key', async () => {
    await page.getByRole('button', { name: 'Recover the agent …' }).click()
    await page.getByRole('button', { name: 'Start the recovery' }).click()
    const command = await page.locator('code').filter({ hasText: '.tgz recover' }).innerText()
    const dir = tempDir(t)
    const env = { ...service.env, PATH: process.env.PATH ?? '', HOME: dir }
    const shell = shellInCheckout(dir, env)
    t.after(() => shell.close())
    await shell.run(command)
    await page.getByRole('listitem', { name: 'Key 3' }).waitFor()
    await page.getByRole('button', { name: 'Report the key as stolen …' }).waitFor()
    assert.equal(await statusOf(service, did), 'active')
  })
  assert.deepEqual(problems, [])
})

test('an owner restores a former key after a mistake', BROWSER_MATRIX, async (t) => {
  const { service, page, problems, did, key } = await scene(t)
  const [second, third] = [newKey(), newKey()]
  await rotateTo(service, did, { old: key, next: second, sequence: 2 })
  await rotateTo(service, did, { old: second, next: third, sequence: 3 })
  await page.getByText(thumbprint(third)).first().waitFor()
  await page.getByRole('button', { name: 'Contest …' }).click()
  await page.getByLabel('Last key that you trust').selectOption('1')
  await page.getByRole('radio', { name: /It was a mistake/ }).check()
  await page.getByRole('button', { name: 'Restore key 1' }).click()
  await page.getByRole('listitem', { name: 'Key 4' }).waitFor()
  assert.deepEqual((await historyOf(service, did)).at(-1), [4, 'current', 'contest'])
  assert.equal(await page.getByRole('button', { name: 'Contest …' }).count(), 0)
  assert.deepEqual(problems, [])
})

test('a key reported as stolen stays burned after a cancellation', BROWSER_MATRIX, async (t) => {
  const { service, owner, page, problems, did } = await scene(t)
  await page.getByRole('button', { name: 'Report the key as stolen …' }).click()
  await assertFitNow(page)
  await page.getByRole('button', { name: 'Report as stolen', exact: true }).click()
  const pending = page.getByRole('region', { name: 'Pending recovery' })
  await pending.getByText('You reported the key as stolen.').waitFor()
  assert.equal(await statusOf(service, did), 'suspended')
  await assertFitNow(page)
  // Another device of the owner cancels it.
  const cancelled = await owner.send('DELETE', `${AGENTS}/${did}/recovery`)
  assert.equal(cancelled.status, 204)
  await page.getByRole('button', { name: 'Recover the agent …' }).waitFor()
  assert.equal(await pending.count(), 0)
  assert.equal(await statusOf(service, did), 'suspended')
  await openTab(page, 'Danger zone')
  await page.getByRole('link', { name: 'Recover its key' }).click()
  await page.getByRole('button', { name: 'Recover the agent …' }).waitFor()
  assert.deepEqual(problems, [])
})

test('an owner stops a renouncing by a recovery, or by a report', BROWSER_MATRIX, async (t) => {
  const { service, page, problems, did, key } = await scene(t)
  const renounced = await renounceWith(service, did, { old: key, sequence: 1 })
  assert.equal(renounced.status, 200, renounced.text)
  const section = page.getByRole('region', { name: 'The agent renounced its certificate' })
  await section.getByText('is revoked permanently on').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Recover the lost key …' }).count(), 0)
  await assertFitNow(page)

  await section.getByRole('button', { name: 'Recover with a new key …' }).click()
  await page.getByText('the revocation waits for the new key').waitFor()
  await assertFitNow(page)
  await page.getByRole('button', { name: 'Start the recovery' }).click()
  const pending = page.getByRole('region', { name: 'Pending recovery' })
  await pending.getByText('The key has renounced the agent').waitFor()
  const token = await pending.getByText(/^svc-recover-[0-9a-f]{32}$/).innerText()
  await recoverWith(service, did, { token, next: newKey(), sequence: 2 })
  await section.getByText('The revocation waits for the pending recovery').waitFor()
  await dismissToast(page, 'Recovery started.')
  await assertFitNow(page)
  await pending.getByRole('button', { name: 'Cancel the recovery …' }).click()
  await page.getByText('it is revoked when its time has passed, or at once').waitFor()
  await page.getByRole('button', { name: 'Cancel the recovery', exact: true }).click()
  await section.getByRole('button', { name: 'Recover with a new key …' }).waitFor()
  await dismissToast(page, 'Recovery cancelled.')

  await section.getByRole('button', { name: 'Report as stolen …' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Report key 1 as stolen?' })
  await dialog.getByText('This agent is suspended until you recover it').waitFor()
  await assertFitNow(page)
  await dialog.getByRole('button', { name: 'Report as stolen', exact: true }).click()
  await page.getByRole('button', { name: 'Recover the agent …' }).waitFor()
  assert.equal(await section.count(), 0)
  assert.deepEqual(await historyOf(service, did), [[1, 'compromised', 'claim']])
  assert.deepEqual(problems, [])
})

test('an owner reports a former key, also of a revoked agent', BROWSER_MATRIX, async (t) => {
  const { service, page, problems, did, key } = await scene(t)
  const next = newKey()
  await rotateTo(service, did, { old: key, next, sequence: 2 })
  await page.getByText(thumbprint(next)).first().waitFor()
  await page.getByRole('button', { name: 'Report as stolen …: key 1' }).click()
  await page.getByText('The status of this agent does not change.').waitFor()
  await page.getByRole('button', { name: 'Report as stolen', exact: true }).click()
  await page.getByText('Compromised').waitFor()
  assert.equal(await statusOf(service, did), 'active')
  await setStatus(service, did, 'revoked')
  await page.reload()
  await page.getByRole('button', { name: 'Report as stolen …: key 2' }).click()
  await page.getByRole('button', { name: 'Report as stolen', exact: true }).click()
  await page.getByText('This key was reported as compromised.').waitFor()
  await assertFitNow(page)
  const history = [
    [1, 'compromised', 'claim'],
    [2, 'compromised', 'rotation'],
  ]
  assert.deepEqual(await historyOf(service, did), history)
  assert.deepEqual(problems, [])
})

test('an owner recovers an agent whose key a restore has lost', BROWSER_MATRIX, async (t) => {
  const { service, owner, page, problems, did } = await scene(t, { RECOVERY_DELAY: '0' })
  leaveUncompared(service)
  const next = newKey()
  const tail = did.slice(-24)
  const newKeyHash = Buffer.from(thumbprint(next), 'base64url')
  const reason = KEY_UNKNOWN_AFTER_RESTORE
  await service.operator.db.write(async (tx) => {
    const lost = { sequence: 2, changedBy: 'recovery' } as const
    const change = { type: 'agent.key_recovered', newKey: newKeyHash, reason, lost } as const
    await changeAgent(tx, tail, change, Date.now())
    await setAgentStatus(tx, tail, { to: 'suspended', reason, setBy: 'service' }, Date.now())
  })
  await page.getByText('Lost in a restore').first().waitFor()
  await page.getByText('restored from a backup that does not have this key').waitFor()
  // Only the former key can be reported.
  assert.equal(await page.getByRole('button', { name: 'Report as stolen …' }).count(), 1)
  await assertFitNow(page)
  await page.getByRole('button', { name: 'Recover the agent …' }).click()
  await page.getByText('with the key that it had or with a new one').waitFor()
  await page.getByRole('button', { name: 'Start the recovery' }).click()
  await page.getByText('Recovery token').first().waitFor()
  await openTab(page, 'Overview')
  await page.getByText('because its key was lost when the service was restored').waitFor()
  const token = jsonOf<{ recoveryToken: string }>(
    await owner.post(`${AGENTS}/${did}/recovery/token`),
  ).recoveryToken
  const done = await recoverWith(service, did, { token, next, sequence: 3 })
  assert.equal(done.status, 200, done.text)
  assert.equal(await statusOf(service, did), 'active')
  assert.deepEqual(problems, [])
})

test('a sign-in that is not enough for a recovery gets the reason', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const owner = await signInBy(service, ownerId, Date.now, { method: 'link' })
  const did = await claimAgent(service, ownerId)
  const { page } = await openWithCookie(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/agents/${did}/keys`)
  await page.getByRole('button', { name: 'Recover the lost key …' }).click()
  await page.getByRole('button', { name: 'Start the recovery' }).click()
  const confirm = page.getByRole('dialog', { name: 'Sign in again to continue' })
  await confirm.getByText(/passkey or provider that you added at least 72 hours ago/).waitFor()
  assert.equal((await keysOf(service, did)).recovery, null)
})
