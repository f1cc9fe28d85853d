import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Role } from '@countersign/protocol'
import { usernameSkeleton } from '@countersign/protocol'
import { insertOwner } from '../../packages/server/src/accounts/owner-table.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openAsOwner, openWithCookie, untilHeading } from '../support/dashboard.ts'
import { createOrganisation } from '../support/organisations.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { signInNewcomer } from '../support/verify-identity.ts'

/** Names that would run a script, break the page, or look like a verification. */
const NAMES = [
  'Donaudampfschiffahrtselektrizitätenhauptbetriebswerkbauunterbe',
  '<img src=x onerror=alert(1)>"<script>alert(2)</script>',
  'Grace',
] as const

/** Persons, without sessions and verifications. @returns their ids */
async function addPersons({ operator }: TestService, count: number): Promise<number[]> {
  return operator.db.write(async (tx) => {
    const ids: number[] = []
    for (let number = 0; number < count; number++) {
      const username = `person-${number}`
      const { id } = await insertOwner(tx, {
        kind: 'person',
        public_id: null,
        username,
        display_name: NAMES[number] ?? `Person ${number}`,
        created_at: Date.now(),
        username_skeleton: usernameSkeleton(username),
      })
      ids.push(id)
    }
    return ids
  })
}

test(
  'the pages of people fit: an organisation with one member, with three, with 200',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    const persons = await addPersons(service, 199)
    for (const [username, count] of [
      ['empty', 0],
      ['three', 2],
      ['large', 199],
    ] as const) {
      await t.test(username, async () => {
        const organisation = await createOrganisation(service, username)
        const roles: readonly Role[] = ['admin', 'viewer', 'manager', 'responder']
        for (const [index, person] of persons.slice(0, count).entries()) {
          await organisation.join(person, roles[index % roles.length] as Role)
        }
        await organisation.admin.post('/api/account/invitations', {
          username: 'someone',
          role: 'viewer',
        })
        const { page, problems } = await openWithCookie(browser, service, organisation.admin.self)
        for (const path of [
          'members',
          'members/invitations',
          'members/actions',
          'agents',
          'account',
        ]) {
          await assertFit(page, async () => {
            await page.goto(`${service.url}/dashboard/o/${username}/${path}`)
            await untilHeading(page, /./)
            await page.waitForLoadState('networkidle')
          })
        }
        await page.goto(`${service.url}/dashboard/o/${username}/members`)
        const size = count === 0 ? '1 member' : `${count + 1} members`
        await page.getByRole('heading', { level: 2, name: size, exact: true }).waitFor()
        assert.equal(await page.getByRole('main').getByRole('listitem').count(), count + 1)
        if (count > 10) {
          await page.getByLabel('Find a member').fill('@person-17')
          await page.getByText('11 members found.').waitFor()
          await page.getByLabel('Find a member').fill('nobody at all')
          await page.getByText('No member matches.').waitFor()
        }
        assert.deepEqual(problems, [])
      })
    }
  },
)

test(
  'a person creates an organisation, and its names and their own verification are checked',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    const newcomer = await openWithCookie(browser, service, await signInNewcomer(service))
    await newcomer.page.goto(`${service.url}/dashboard/agents`)
    await newcomer.page.getByRole('button', { name: 'A newcomer' }).click()
    await newcomer.page.getByRole('link', { name: 'Create organisation' }).click()
    await newcomer.page.getByRole('heading', { name: 'Verify your own identity first' }).waitFor()

    const owner = await service.operator.addVerifiedOwner('ada')
    await createOrganisation(service, 'taken')
    const { page, problems } = await openAsOwner(browser, service, owner)
    const create = page.getByRole('button', { name: 'Create the organisation' })
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/organisations/new`)
      await create.waitFor()
    })
    await create.click()
    await page.getByText('Enter a name.').waitFor()
    await page.getByLabel('Name of the organisation').fill('Acme ✓')
    await page.getByText('People could mistake them for a verification.').waitFor()
    await page.getByLabel('Name of the organisation').fill('Acme')
    await page.getByLabel('Username').fill('taken')
    await create.click()
    await page.getByRole('alert').getByText(/taken/).waitFor()
    assert.equal(problems.length, 1, 'the refusal')
    await page.getByLabel('Username').fill('acme')
    await create.click()
    await page.waitForURL('**/dashboard/o/acme/identity')
    await page.getByText('Acting for Acme @acme · Admin').waitFor()
    await page.getByText('No verifications yet').waitFor()
  },
)

test(
  'an invitation is shown with who invites, accepted with the role shown, and declined',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    const acme = await createOrganisation(service, 'acme')
    const other = await createOrganisation(service, 'other')
    const grace = await signIn(service, await service.operator.addVerifiedOwner('grace'))
    const admin = await openWithCookie(browser, service, acme.admin.self)
    await admin.page.goto(`${service.url}/dashboard/o/acme/members`)
    await admin.page.getByRole('button', { name: 'Invite someone' }).click()
    const dialog = admin.page.getByRole('dialog')
    await dialog.getByLabel('Username or e-mail address').fill('grace@example.org')
    await dialog.getByText('Only verified organisations invite by e-mail.').waitFor()
    await dialog.getByLabel('Username or e-mail address').fill('@grace')
    await dialog.getByRole('radio', { name: 'Responder' }).check()
    await dialog.getByRole('button', { name: 'Send the invitation' }).click()
    await admin.page.getByText('@grace is invited.').waitFor()
    await admin.page
      .getByRole('navigation', { name: 'Members' })
      .getByRole('link', { name: 'Invitations' })
      .click()
    await admin.page.getByRole('listitem', { name: '@grace' }).getByText('Responder').waitFor()
    await other.admin.post('/api/account/invitations', { username: 'grace', role: 'admin' })

    const { page, problems } = await openWithCookie(browser, service, grace)
    await page.goto(`${service.url}/dashboard/agents`)
    await page.getByRole('button', { name: 'Owner grace' }).click()
    await page
      .getByRole('link', { name: /^Invitations/ })
      .getByText('2')
      .waitFor()
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/invitations`)
      await page.getByRole('listitem', { name: '@acme' }).waitFor()
    })
    const item = page.getByRole('listitem', { name: '@acme' })
    await item.getByText('Calls itself “Acme”. Invited by “Owner acme-admin”.').waitFor()
    await page.getByRole('button', { name: 'Decline: @other' }).click()
    await page.getByText('You declined the invitation of @other.').waitFor()
    assert.equal(await page.getByRole('listitem', { name: '@other' }).count(), 0)

    // The role changes while the page shows another one.
    await acme.admin.post('/api/account/invitations', { username: 'grace', role: 'admin' })
    assert.deepEqual(problems, [])
    await item.getByRole('button', { name: /^Accept/ }).click()
    await page.getByRole('listitem', { name: '@acme' }).getByText('Admin.').waitFor()
    await page.getByRole('button', { name: 'Accept as Admin: @acme' }).click()
    await page.waitForURL('**/dashboard/o/acme/agents')
    await page.getByText('Acting for Acme @acme · Admin').waitFor()
    assert.deepEqual(admin.problems, [])
  },
)

test(
  'an admin changes a role and removes a member, and sees what ended and what to review',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    const acme = await createOrganisation(service)
    await acme.verify()
    const mona = await acme.addMember('mona', 'manager')
    const key = { name: 'ci', scopes: ['agents:read'], expiresInDays: 7 }
    assert.equal((await mona.post('/api/account/api-keys', key)).status, 201)
    assert.equal((await mona.post('/api/agents/token')).status, 201)

    const { page, problems } = await openWithCookie(browser, service, acme.admin.self)
    await page.goto(`${service.url}/dashboard/o/acme/members`)
    await page.getByRole('button', { name: 'Change role: Owner mona' }).click()
    const change = page.getByRole('alertdialog')
    await change.getByRole('radio', { name: 'Admin' }).check()
    await change.getByRole('button', { name: 'Change role' }).click()
    await page.getByRole('listitem', { name: 'Owner mona' }).getByText('Admin').waitFor()

    await page.getByRole('button', { name: 'Remove …: Owner mona' }).click()
    await page.getByRole('button', { name: 'Remove the member' }).click()
    const ended = page.getByRole('dialog', { name: 'Owner mona is no longer a member' })
    await ended.getByText('1 API key was deleted.').waitFor()
    await ended.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { level: 2, name: '1 member' }).waitFor()
    await page.getByRole('link', { name: 'Actions' }).click()
    await page.getByText('removed a member, or left').waitFor()
    await page.getByText('created a claim token').waitFor()
    assert.deepEqual(problems, [])
  },
)

test(
  'the last admin cannot leave; another member can, and is back in their own account',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const browser = await openBrowser(t)
    const acme = await createOrganisation(service)
    const grace = await acme.addMember('grace', 'viewer')
    const admin = await openWithCookie(browser, service, acme.admin.self)
    await admin.page.goto(`${service.url}/dashboard/o/acme/members`)
    await admin.page.getByRole('button', { name: 'Leave …' }).click()
    const refused = admin.page.getByRole('alertdialog')
    await refused.getByRole('button', { name: 'Leave the organisation' }).click()
    await refused.getByRole('alert').getByText(/admin/).waitFor()

    const { page, problems } = await openWithCookie(browser, service, grace.self)
    await page.goto(`${service.url}/dashboard/o/acme/members`)
    await page.getByRole('button', { name: 'Leave …' }).click()
    await page
      .getByRole('alertdialog')
      .getByRole('button', { name: 'Leave the organisation' })
      .click()
    await page.getByRole('dialog', { name: 'You left @acme' }).waitFor()
    await page.getByRole('button', { name: 'Continue with your own account' }).click()
    await page.waitForURL('**/dashboard/agents')
    await page.getByRole('button', { name: 'Owner grace' }).waitFor()
    assert.deepEqual(problems, [])
  },
)
